/** TLS settings under the names that Go has for versions and cipher suites, and their names in OpenSSL. */
import { getCiphers } from 'node:tls'

/** A setting that cannot be used; the message is kube-apiserver's. */
export class TlsSettingError extends Error {}

/** Settings of a TLS server. */
export type TlsSettings = {
  readonly minVersion: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'
  /** Cipher suites in OpenSSL's notation; undefined for the usual ones. */
  readonly ciphers?: string
  /** Names of configured suites that are known to be weak. */
  readonly insecure: readonly string[]
}

const VERSIONS: Readonly<Record<string, TlsSettings['minVersion']>> = {
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
}

export const TLS_VERSIONS = Object.keys(VERSIONS)

/** Suites of TLS 1.3 have the same names in OpenSSL. Go serves all of them, whatever is configured. */
const SUITES_13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']

/** HTTP/2 needs one of these before TLS 1.3. */
const OF_HTTP2 = ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256']

const SECURE: Readonly<Record<string, string>> = {
  ...Object.fromEntries(SUITES_13.map(name => [name, name])),
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
}

const INSECURE: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: 'ECDHE-ECDSA-AES128-SHA256',
  TLS_ECDHE_ECDSA_WITH_RC4_128_SHA: 'ECDHE-ECDSA-RC4-SHA',
  TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA: 'ECDHE-RSA-DES-CBC3-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: 'ECDHE-RSA-AES128-SHA256',
  TLS_ECDHE_RSA_WITH_RC4_128_SHA: 'ECDHE-RSA-RC4-SHA',
  TLS_RSA_WITH_3DES_EDE_CBC_SHA: 'DES-CBC3-SHA',
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_128_CBC_SHA256: 'AES128-SHA256',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
  TLS_RSA_WITH_RC4_128_SHA: 'RC4-SHA',
}

/** Reads the values of `--tls-min-version` and `--tls-cipher-suites`. Throws TlsSettingError. */
export function readTlsSettings({ minVersion, cipherSuites }: { minVersion: string; cipherSuites: readonly string[] }): TlsSettings {
  const suites = cipherSuites.map(suiteOf)
  const version = minVersion === '' ? 'TLSv1.2' : Object.hasOwn(VERSIONS, minVersion) ? VERSIONS[minVersion]! : undefined
  if (version === undefined) throw new TlsSettingError(`unknown tls version ${JSON.stringify(minVersion)}`)
  if (suites.length > 0 && version !== 'TLSv1.3' && !cipherSuites.some(name => OF_HTTP2.includes(name)))
    throw new TlsSettingError(
      `error configuring http2: http2: TLSConfig.CipherSuites is missing an HTTP/2-required AES_128_GCM_SHA256 cipher (need at least one of ${OF_HTTP2.join(' or ')})`,
    )
  const isOld = version === 'TLSv1' || version === 'TLSv1.1'
  const before13 = suites.length > 0 ? suites.filter(name => !SUITES_13.includes(name)) : isOld ? ['DEFAULT'] : []
  // OpenSSL negotiates versions before 1.2 at this level only.
  const list = [...SUITES_13, ...before13, ...(isOld ? ['@SECLEVEL=0'] : [])]
  const insecure = cipherSuites.filter(name => Object.hasOwn(INSECURE, name))
  return { minVersion: version, insecure, ...(before13.length > 0 && { ciphers: list.join(':') }) }
}

/** The suite in OpenSSL's notation. Some that Go knows are no longer part of OpenSSL. */
function suiteOf(name: string): string {
  const suite = Object.hasOwn(SECURE, name) ? SECURE[name] : Object.hasOwn(INSECURE, name) ? INSECURE[name] : undefined
  if (suite === undefined || !getCiphers().includes(suite.toLowerCase()))
    throw new TlsSettingError(`Cipher suite ${name} not supported or doesn't exist`)
  return suite
}

/** A certificate for certain names of the server: its files, and the names; none for those in the certificate. */
export type NamedPair = { readonly certFile: string; readonly keyFile: string; readonly names: readonly string[] }

/** Reads `CERT,KEY` or `CERT,KEY:NAME,NAME`. Throws TlsSettingError. */
export function readNamedPair(text: string): NamedPair {
  const colon = text.indexOf(':')
  const [pair, names] = colon === -1 ? [text, undefined] : [text.slice(0, colon), text.slice(colon + 1).trim()]
  if (names === '') throw new TlsSettingError('empty names list is not allowed')
  const files = pair.split(',').map(file => file.trim())
  if (files.length !== 2) throw new TlsSettingError('expected comma separated certificate and key file paths')
  return { certFile: files[0]!, keyFile: files[1]!, names: names?.split(',').map(name => name.trim()) ?? [] }
}
