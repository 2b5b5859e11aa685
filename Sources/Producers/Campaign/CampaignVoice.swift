package import Notifications
package import Store

/// What the campaign producer would say to a user next: the words of the oldest campaign that is for the user and was not handed to
/// the queue for them yet.
package struct CampaignVoice: CategoryVoice {
    private let store: CampaignStore

    package init(store: CampaignStore) {
        self.store = store
    }

    package func words(for user: UserID) async throws -> VoiceAnswer {
        guard let campaign = try await store.next(for: user) else { return .silent(reason: "no_campaign") }
        let language = try await store.languages(of: [user])[user.rawValue]
        let text = campaign.content.texts.text(for: language).text
        return .saysAsWritten(
            title: text.title.map(OperatorText.init(writtenByOperator:)),
            body: OperatorText(writtenByOperator: text.body),
            deeplinkURL: campaign.content.deeplinkURL
        )
    }
}
