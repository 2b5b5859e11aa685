// The part of the platform that an app embeds. See docs/modules.md.
