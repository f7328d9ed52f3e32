/** Recognizes records that are encrypted at rest, by the prefix that kube-apiserver gives them. */

export type Encryption = { readonly provider: string; readonly key: string }

const MAX_PREFIX_LENGTH = 400

/** The provider and the name of the key of an encrypted record: `aesgcm` and `key1` of `k8s:enc:aesgcm:v1:key1:`. */
export function encryptionOf(value: Uint8Array): Encryption | undefined {
  // The first byte decides for almost all of them.
  if (value[0] !== 0x6b) return undefined
  const start = Buffer.from(value.buffer, value.byteOffset, Math.min(value.length, MAX_PREFIX_LENGTH)).toString('latin1')
  const [, provider, key] = /^k8s:enc:([a-z]+):v\d+:([^:]*):/.exec(start) ?? []
  return provider === undefined || key === undefined ? undefined : { provider, key }
}
