package import DeliveryEngine
package import Store

/// The engine's port for dead tokens over the store.
package struct TokenAdapter: TokenInvalidating {
    private let store: DeviceStore

    package init(store: DeviceStore) {
        self.store = store
    }

    package func invalidate(_ token: TokenInvalidation) async throws -> InvalidationResult {
        let result = try await store.invalidate(
            device: token.deviceRowID,
            of: token.userID,
            token: token.token,
            registeredBefore: token.registeredBefore,
            reason: token.reason
        )
        return InvalidationResult(tokenRemoved: result.tokenRemoved, permissionRevoked: result.permissionRevoked)
    }
}
