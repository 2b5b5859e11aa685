import Foundation

/// The sun's position and times.
///
/// Source: the equations of NOAA's Solar Calculator (Global Monitoring Laboratory), which follow Jean Meeus, "Astronomical
/// Algorithms"; good to well under a minute between 1900 and 2100 where the sun crosses the horizon at a slant. Near the poles, where
/// a thousandth of a degree is minutes, the pull of the planets and the Moon counts too: the terms of Meeus, "Astronomical Formulae
/// for Calculators", chapter 18.
enum Sun {
    /// How far the sun's centre is below the horizon as its upper edge appears, in degrees: 16′ of radius, and the refraction
    /// that NOAA's formula gives there.
    static let horizonDepression: Double = {
        let elevation = -16.0 / 60
        let refraction =
            1735 + elevation * (-518.2 + elevation * (103.4 + elevation * (-12.79 + elevation * 0.711)))
        return 16.0 / 60 + refraction / 3600
    }()

    /// Declination in degrees and the equation of time in seconds.
    struct Position {
        let declination: Double
        let equationOfTime: Double

        /// - Parameter instant: seconds since 1970-01-01 00:00 UTC.
        init(at instant: Double) {
            let century = (instant / 86_400 + 2_440_587.5 - 2_451_545) / 36_525
            let longitude = radians(280.46646 + century * (36_000.76983 + 0.0003032 * century))
            let anomaly = radians(357.52911 + century * (35_999.05029 - 0.0001537 * century))
            let eccentricity = 0.016708634 - century * (0.000042037 + 0.0000001267 * century)
            let centre =
                sin(anomaly) * (1.914602 - century * (0.004817 + 0.000014 * century))
                + sin(2 * anomaly) * (0.019993 - 0.000101 * century) + sin(3 * anomaly) * 0.000289
            let node = radians(125.04 - 1934.136 * century)
            let apparent = longitude + radians(centre - 0.00569 - 0.00478 * sin(node) + Self.pull(at: century))
            let seconds = 21.448 - century * (46.815 + century * (0.00059 - century * 0.001813))
            let obliquity = radians(23 + (26 + seconds / 60) / 60 + 0.00256 * cos(node))
            declination = asin(sin(obliquity) * sin(apparent)) * 180 / .pi
            let half = tan(obliquity / 2)
            let y = half * half
            let time =
                y * sin(2 * longitude) - 2 * eccentricity * sin(anomaly)
                + 4 * eccentricity * y * sin(anomaly) * cos(2 * longitude) - 0.5 * y * y * sin(4 * longitude)
                - 1.25 * eccentricity * eccentricity * sin(2 * anomaly)
            equationOfTime = time * 180 / .pi * 240
        }

        /// Degrees of longitude that Venus, Jupiter and the Moon move the Earth's view by.
        private static func pull(at century: Double) -> Double {
            // These terms count centuries from 1900.
            let century = century + 1
            let venus =
                0.00134 * cos(radians(153.23 + 22_518.7541 * century))
                + 0.00154 * cos(radians(216.57 + 45_037.5082 * century))
            let jupiter = 0.002 * cos(radians(312.69 + 32_964.3577 * century))
            let moon = 0.00179 * sin(radians(350.74 + century * (445_267.1142 - 0.00144 * century)))
            return venus + jupiter + moon + 0.00178 * sin(radians(231.19 + 20.2 * century))
        }
    }

    /// The moment of the sun's highest place on one turn of the Earth.
    /// - Parameters:
    ///   - turn: the turn whose mean noon at Greenwich lies on that day since 1970-01-01.
    ///   - longitude: degrees, east positive.
    static func noon(turn: Int, longitude: Double) -> Double {
        let mean = Double(turn) * 86_400 + 43_200 - longitude * 240
        var noon = mean
        for _ in 0..<2 { noon = mean - Position(at: noon).equationOfTime }
        return noon
    }

    /// The moment the sun's centre passes a depression below the horizon on the given turn.
    /// - Parameters:
    ///   - depression: degrees, negative above the horizon.
    ///   - isRising: before noon or after it.
    /// - Returns: `nil` when it does not pass it.
    static func crossing(
        turn: Int,
        latitude: Double,
        longitude: Double,
        depression: Double,
        isRising: Bool
    ) -> Double? {
        // At a pole every direction is the same; close to it the equations still hold.
        let phi = radians(min(89.8, max(-89.8, latitude)))
        let mean = Double(turn) * 86_400 + 43_200 - longitude * 240
        var moment = noon(turn: turn, longitude: longitude)
        for _ in 0..<8 {
            let position = Position(at: moment)
            let declination = radians(position.declination)
            let cosine = (sin(radians(-depression)) - sin(phi) * sin(declination)) / (cos(phi) * cos(declination))
            guard (-1...1).contains(cosine) else { return nil }
            let angle = acos(cosine) * 180 / .pi * 240
            let found = mean - position.equationOfTime + (isRising ? -angle : angle)
            if abs(found - moment) < 0.01 { return found }
            moment = found
        }
        return moment
    }
}

private func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
