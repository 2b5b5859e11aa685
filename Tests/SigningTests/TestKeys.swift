/// Throw-away keys, made with `openssl genpkey`, that must be refused.
enum TestKeys {
    static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBmFEmHEgxzW8+3t/Q2
        K/OjQBsPZTFSnOusHIPke8sGOwN1acdGbtKLEf0rZFHV3wWhZANiAATdAiqD0u49
        rqaDcJykagsLtuMHWoaR7Q9udckWT7astNveltoG9S9mb0Y2uvoh4Wc7LTx5nTyB
        nVqM6eRWbFAodHwmijD7jtgUwfItr0jDbrs3tY4RwGF/FHCVreDqktY=
        -----END PRIVATE KEY-----
        """

    static let rsa1024 = """
        -----BEGIN PRIVATE KEY-----
        MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8wggJbAgEAAoGBAKh+lD2sxZKhV72P
        DAcWyhDORJO8R1+JL6uOVMNiS+HxaWb53ssuz8u12iWb8ZBc0jZH36MmMNjigdzj
        rlrdSZle7rnVc20Kach3RIDNmw4R6pq6upRvSSmmbDU40Jm/yWt2Kxv4iX7pxcay
        zJx+vqgEtzo3Hiwt1xHhXOTo0FL3AgMBAAECgYAEbgeBs5giKcG/xxH+4beAR5v/
        8lRCC75IGV7bICt0jj9CKNGVr+5gobBRis8IB5izOqKDjI5+NT5Ky2WbF/RGXA/J
        t/1Fy+Qy7lXmhiZ25hLJtmaneWGQtuLk+NRXF4WEIM32lVCLHoohIrDKzWL48pkR
        WR6RsbAy/VUZYlE1MQJBANGHUOdaoDIVwaWR/EjIApkFK7iNjDgRIctJXtFme1sv
        HBdP48xVklBVVNsSpMAbknYbGYjqGepmx3bjOiDEGm8CQQDN3WnayHOGdl/i9Rn7
        GCBXg0Fd8VJ/3iBz7rUp21jOALt82wNi3Fjmg6jX4sDkjtPzC93K5Cn/Z96eKtB1
        WbP5AkA1TIWhBGWht/UViAgz/2ThxfX0MVWM4ZbGHnjXLYmNjXNI3tKkpNPeSYaX
        X6u3Dox4LLaXJG3JObHdpTmhIiFTAkA77YaRH+UxcWg8Y2lqxP01PIpc1JFVk84S
        sZyfULErVt89W2xC7S4b/Ju8LNBGOKXOjNfF5mGrbgtKM+B3KOPRAkBntbAK0Q39
        edJrWjWY0UZ1OWbErfgBZmplOiSWUm1xah2yu0FsuQZN5oirb4BmXfGLeGLgW9Bd
        FiyWMaskkvIo
        -----END PRIVATE KEY-----
        """

    static let rsaExponent3 = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDC8BJ4QMvq+v+I
        aR8iiS7+CD34gpv5CQrPjeJAXvdbkkwNM2iMBGbZk99n7YwCLwAJXHywIo7SmLbE
        8FzLBlGxndcGtxtEa+92fG8QHFKWfsUdxXu6r1WzhodV08j7sVrMvXuzGTk7n73K
        xMpwKR0xU2Lx/Pix3p12dSMutznm806jJ2CvsqyOr9zWT6FdYf3YPuQmduCT8gbs
        zy8A2zu1A+ld9rUXlG9pZ+V9ro7Q/JAkyz8tFbNA23BNs8wcpM+6VaFzTmnuhM4U
        Pvvzx1nxl/l8SnuxMjSvdBKwrRVgmY3TyfhPfxtgV6bT6JUyPRU8yy5PH2Zqan1t
        Cf/TdhjhAgEDAoIBAQCB9WGlgIfx/Kpa8L9sW3SpWtP7Ab1QsLHfs+wq6fo9DDKz
        d5sIAu87t+pFSQgBdKqw6FMgFwnhuySDSuiHWYvLvo9Zz2eC8p+kUvS1aDcO/y4T
        2P0nH453rwTj4oX9IOczKP0iENDSan6HLdxKxhN2N5dL/fshPxOkThd0eiaZ9l+V
        bVXjNUnGYfWvt3lrraz6nSdbXegkn1RyoC73gJFaKTHU3VqCbwf3lJw/yne7DIZ6
        pQQAj/e8DHGlwJH5+9tALyJMq3VtJb/1zeZrb9QhWHWLa4eHqS5hr4L/kkOWK4yA
        m1xZiwUX925KU8BszbYu3CeAzmuyJuuzG4APe98rAoGBAOn14lcDYx/bi9kS32QX
        I17mfLHF87uCsvCP6B8900Vz6NaZMa1vjLaKKoZFBDqp1b6Rrhv8AjwCdaeK4ok6
        vxGJ4eQw5L/mY568v7zSt2hT1LgiLQyqZ4pqoLma/vlIMGF4JkhzKxAQVmlVJeMB
        7rtTpQOd2PRwtXxs8JgqDjQpAoGBANVNIQjXf54JkRM73Qckuht51ndXdkjaUBew
        9slPxxw53UgFeP/kYSzr3nTY+qCOlAfbJZ0wO4OkUx5KMGfq6/VQLQnPaHnkaI9m
        ymV/6DNrvpEI/CO7TOSyTBSWUra3J9mauqVWA4OsDhgPRRGNGcii2+9wENBuep9z
        cCeSLhX5AoGBAJv5QY9Xl2qSXTth6kK6F5SZqHaD99JXIfW1RWopN4Oimzm7dnOf
        syRcHFmDWCcb49RhHr1SrCgBo8UHQbDR1LZb6+117dVEQmnTKn3hz5rijdAWyLMc
        RQbxwHu8qfuFdZZQGYWiHLVgOZuOGUIBSdI3w1e+kKL1zlLzSxAcCXgbAoGBAI4z
        a1s6VRQGYLd9PgTDJrz75E+PpDCRirp1+duKhL176NquUKqYQMidPviQpxW0Yq/n
        bmjK0lfC4hQxdZqcnU41c1vfmvvtmwpEhu5VRXedKbYF/W0niJh23WMO4c8kxTu8
        fG45V60dXrq02LZeETBskp+gCzWe/GpM9W+2yWP7AoGBALYE0liXvb4gZVpTaAgt
        FX9YBTlHWvPjpr7gU6ActImRpiMWKAefdm2S8yYfD352lFbyTFCTCnZEUjmvRKpC
        yRnsBJRNJEVA1NE2cavLn5UrpNn6zVrV7IRDVcxBfGmDML79yo4RASSXYomGlp5p
        0vRDKFfQCFMVSlsAwYZjpAyu
        -----END PRIVATE KEY-----
        """

    static let ed448 = """
        -----BEGIN PRIVATE KEY-----
        MEcCAQAwBQYDK2VxBDsEOYcmx2+afcinktZmV6pEYPB5QnH+Xo0G667FLAMrAM3D
        CK9/XyPMjFDsfid7EurnX3Nr0cn1m8BBMw==
        -----END PRIVATE KEY-----
        """

    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiUc8jWgjfkqAICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEENcTbVmKELYOa3GsT5gEsNwEgZDG
        ubkGg9RGfxWD0pUf1GV18NrMN4QKqIrmCN5I3QdRMXZYyPSYdxhfoS0iCSsaU0GH
        Shjf+Lb+Yet1BehqgGoUaptNf4h5DhVZZXnbeaO6+ryNxhKiW6yFDbhmexzPoQ/x
        Oy7xlRyXwzJU/9COHr1a5IrBc+GbEI+FdsE3qxvzVVko0Np+OGK2WbwVzo/bFWs=
        -----END ENCRYPTED PRIVATE KEY-----
        """
}
