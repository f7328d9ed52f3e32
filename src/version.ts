/** The version of Keelson, set by the build. */
declare const KEELSON_VERSION: string | undefined

export const VERSION = typeof KEELSON_VERSION === 'string' ? KEELSON_VERSION : '0.0.0-source'
