// Tests of the producers.
