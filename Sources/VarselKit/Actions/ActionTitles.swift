/// The words of the buttons, as the server's catalog has them.
extension LocalizedText {
    /// Opens what a reminder is about.
    static let openImpulse = LocalizedText([
        "en": "Open impulse",
        "nb": "Åpne impulsen",
        "sv": "Öppna impulsen",
        "da": "Åbn impulsen",
        "fi": "Avaa impulssi",
        "de": "Impuls öffnen",
        "nl": "Impuls openen",
        "fr": "Ouvrir l'impulsion",
        "es": "Abrir impulso",
        "it": "Apri l'impulso",
        "pt": "Abrir impulso",
        "pl": "Otwórz impuls",
        "tr": "İçtepiyi aç",
        "ja": "インパルスを開く",
        "ko": "임펄스 열기",
        "zh-Hans": "打开念头",
    ])

    /// Opens the subscription.
    static let renewSubscription = LocalizedText([
        "en": "Renew subscription",
        "nb": "Forny abonnement",
        "sv": "Förnya abonnemang",
        "da": "Forny abonnement",
        "fi": "Uusi tilaus",
        "de": "Abo verlängern",
        "nl": "Abonnement verlengen",
        "fr": "Renouveler l'abonnement",
        "es": "Renovar suscripción",
        "it": "Rinnova abbonamento",
        "pt": "Renovar assinatura",
        "pl": "Odnów subskrypcję",
        "tr": "Aboneliği yenile",
        "ja": "サブスクリプションを更新",
        "ko": "구독 갱신",
        "zh-Hans": "续订",
    ])
}
