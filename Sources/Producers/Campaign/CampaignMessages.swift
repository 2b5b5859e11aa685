package import Kernel
package import NotificationBus
import NotificationContract
package import Notifications

/// Makes the notifications of campaigns: for each user always the same message id, so that no repetition reaches anybody twice.
package struct CampaignMessages: Sendable {
    private let identity: MessageIdentity

    package init(identity: MessageIdentity) {
        self.identity = identity
    }

    /// What one user gets. All ids of a campaign share its instant.
    package func request(
        _ campaign: Campaign,
        for user: UserID,
        language: String?,
        startedAt: Timestamp,
        due: Timestamp
    ) -> NotificationRequest {
        NotificationRequest(
            job: job(campaign, for: user, language: language),
            scheduledFor: due,
            messageID: identity.messageID(
                kind: "campaign",
                key: "\(campaign.id) \(user)",
                instant: startedAt
            )
        )
    }

    /// What one user gets of a test send.
    /// - Parameters:
    ///   - run: tells this test from others of the campaign.
    ///   - moment: when it was asked for.
    package func testRequest(
        _ campaign: Campaign,
        for user: UserID,
        language: String?,
        run: String,
        at moment: Timestamp
    ) -> NotificationRequest {
        var job = job(campaign, for: user, language: language)
        job.isTest = true
        return NotificationRequest(
            job: job,
            messageID: identity.messageID(
                kind: "campaign-test",
                key: "\(campaign.id) \(run) \(user)",
                instant: moment
            )
        )
    }

    private func job(_ campaign: Campaign, for user: UserID, language: String?) -> NotificationJob {
        let (locale, text) = campaign.content.texts.text(for: language)
        return NotificationJob(
            userID: user,
            category: .campaign,
            text: .literal(body: OperatorText(writtenByOperator: text.body)),
            title: text.title.map(OperatorText.init(writtenByOperator:)),
            deeplinkURL: campaign.content.deeplinkURL,
            sourceEntityID: campaign.id.source,
            languageCode: locale.rawValue,
            batchReference: campaign.id.source
        )
    }
}
