#if canImport(CoreLocation)
    public import CoreLocation

    extension Place {
        /// Where a location is.
        public init?(_ location: CLLocation) {
            self.init(latitude: location.coordinate.latitude, longitude: location.coordinate.longitude)
        }
    }
#endif
