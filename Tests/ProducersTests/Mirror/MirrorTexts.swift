import Notifications

/// The second file: its texts, which a shipped category keeps in `Texts/mirror.json`.
let mirrorTexts: [ServerLocale: [String: String]] = [
    .english: [
        "mirror.name": "Mirror", "mirror.title": "A look back", "mirror.week": "Your week in {appName} is ready.",
        "mirror.quiet": "A quiet week. Take a look.",
    ],
    .norwegian: [
        "mirror.name": "Speil", "mirror.title": "Et tilbakeblikk", "mirror.week": "Uken din i {appName} er klar.",
        "mirror.quiet": "En rolig uke. Ta en titt.",
    ],
]
