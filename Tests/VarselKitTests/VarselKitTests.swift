// Tests of what an app embeds.
