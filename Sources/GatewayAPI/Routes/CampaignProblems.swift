import HTTPServer
import Notifications
import Store

extension CampaignStore.Change {
    /// The campaign after the change.
    /// - Parameter version: the one that the change was meant for.
    func campaign(at version: Int? = nil) throws(Problem) -> Campaign {
        switch self {
        case .done(let campaign): return campaign
        case .missing: throw .noSuchCampaign
        case .refused(let campaign):
            if let version, version != campaign.version { throw .campaignVersion(campaign, read: version) }
            throw .campaignState(campaign)
        }
    }
}

extension Problem {
    static let noSuchCampaign = Problem(
        status: 404,
        slug: "no-such-campaign",
        title: "Not found",
        detail: "There is no such campaign."
    )

    static let noList = Problem(
        status: 415,
        slug: "unsupported-media-type",
        title: "Unsupported media type",
        detail: "The list must be text/csv in UTF-8.",
        headers: ["accept": "text/csv"]
    )

    static func campaignState(_ campaign: Campaign) -> Problem {
        Problem(
            status: 409,
            slug: "campaign-state",
            title: "Conflict",
            detail: "The campaign is \(campaign.state.rawValue), which does not allow this."
        )
    }

    static func campaignVersion(_ campaign: Campaign, read version: Int) -> Problem {
        Problem(
            status: 409,
            slug: "campaign-version",
            title: "Conflict",
            detail:
                "The campaign is at version \(campaign.version), not \(version): somebody changed it. Read it again, then repeat this."
        )
    }

    static func listUnused(_ users: Int) -> Problem {
        .unacceptable([
            .init(
                pointer: "/audience/list",
                detail: "is false although \(users) users were uploaded, so it would go to everybody: set it to true"
            )
        ])
    }

    static func listTooLong(_ limit: Int) -> Problem {
        Problem(
            status: 422,
            slug: "list-too-long",
            title: "Unprocessable request",
            detail:
                "A list may have \(limit) users over all its parts. Nothing of this part was taken; make it shorter, or split the list between two campaigns."
        )
    }
}
