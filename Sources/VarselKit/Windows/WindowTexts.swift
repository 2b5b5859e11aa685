/// The fixed words of the windows. They say that a window is open and claim nothing else.
extension LocalizedText {
    /// Title of the first window.
    public static let morningWindow = LocalizedText([
        "en": "Morning window",
        "nb": "Morgenvinduet",
        "sv": "Morgonfönstret",
        "da": "Morgenvinduet",
        "fi": "Aamuikkuna",
        "de": "Morgenfenster",
        "nl": "Ochtendvenster",
        "fr": "Fenêtre du matin",
        "es": "Ventana de la mañana",
        "it": "Finestra del mattino",
        "pt": "Janela da manhã",
        "pl": "Okno poranne",
        "tr": "Sabah penceresi",
        "ja": "朝の時間帯",
        "ko": "아침 시간대",
        "zh-Hans": "早晨时段",
    ])

    /// Title of the second window.
    public static let middayWindow = LocalizedText([
        "en": "Midday window",
        "nb": "Middagsvinduet",
        "sv": "Middagsfönstret",
        "da": "Middagsvinduet",
        "fi": "Keskipäivän ikkuna",
        "de": "Mittagsfenster",
        "nl": "Middagvenster",
        "fr": "Fenêtre de midi",
        "es": "Ventana del mediodía",
        "it": "Finestra di mezzogiorno",
        "pt": "Janela do meio-dia",
        "pl": "Okno południowe",
        "tr": "Öğle penceresi",
        "ja": "昼の時間帯",
        "ko": "정오 시간대",
        "zh-Hans": "正午时段",
    ])

    /// Title of the third window.
    public static let eveningWindow = LocalizedText([
        "en": "Evening window",
        "nb": "Kveldsvinduet",
        "sv": "Kvällsfönstret",
        "da": "Aftenvinduet",
        "fi": "Iltaikkuna",
        "de": "Abendfenster",
        "nl": "Avondvenster",
        "fr": "Fenêtre du soir",
        "es": "Ventana de la tarde",
        "it": "Finestra della sera",
        "pt": "Janela do fim do dia",
        "pl": "Okno wieczorne",
        "tr": "Akşam penceresi",
        "ja": "夕方の時間帯",
        "ko": "저녁 시간대",
        "zh-Hans": "傍晚时段",
    ])

    /// Body of every window's notification.
    public static let windowIsOpen = LocalizedText([
        "en": "The window is open.",
        "nb": "Vinduet er åpent.",
        "sv": "Fönstret är öppet.",
        "da": "Vinduet er åbent.",
        "fi": "Ikkuna on auki.",
        "de": "Das Fenster ist offen.",
        "nl": "Het venster is open.",
        "fr": "La fenêtre est ouverte.",
        "es": "La ventana está abierta.",
        "it": "La finestra è aperta.",
        "pt": "A janela está aberta.",
        "pl": "Okno jest otwarte.",
        "tr": "Pencere açık.",
        "ja": "時間帯が始まりました。",
        "ko": "시간대가 열렸습니다.",
        "zh-Hans": "时段已开始。",
    ])
}
