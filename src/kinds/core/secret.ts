/** Secret holds sensitive data: passwords, tokens, keys. */

import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { JsonError, parseJson } from '../../codec/json.ts'
import { deepEqual, isObject, jsonTypeName, setOwn } from '../../lib/json-value.ts'
import { LIMITS } from '../../lib/limits.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { entry, type FieldError, forbidden, invalid, type Ref, required, tooLong, withValue } from '../../schema/refs.ts'
import { bool, bytes, mapOf, string } from '../../schema/types.ts'
import { MAX_DATA_BYTES, SEALED, sizeOf, validateKeys } from '../rules/data.ts'

const ACCOUNT_NAME = 'kubernetes.io/service-account.name'

export const Secret = defineKind({
  group: '',
  version: 'v1',
  kind: 'Secret',
  scope: 'Namespaced',
  names: { plural: 'secrets' },
  doc: 'Data that not everyone may read.',
  isConfidential: true,
  fields: {
    immutable: [5, bool.optional(), 'When true, only metadata can be changed from then on.'],
    data: [2, mapOf(bytes), 'Bytes by key, written in base64.'],
    stringData: [4, mapOf(string), 'Strings that a write merges into data, overwriting existing keys; write-only.'],
    type: [3, string.default('Opaque'), 'The type of the data; some types need certain keys.'],
  },

  defaults(o) {
    const { stringData } = o
    if (!stringData) return
    o.data ??= {}
    for (const [key, text] of Object.entries(stringData)) setOwn(o.data, key, Buffer.from(text).toString('base64'))
    delete o.stringData
  },

  *validateUpdate(o, old, at) {
    if (o.type !== old.type) yield invalid(at.type, 'field is immutable')
    if (!old.immutable) return
    if (!o.immutable) yield forbidden(at.immutable, SEALED)
    if (!deepEqual(o.data, old.data)) yield forbidden(at.data, SEALED)
  },
  *validate({ metadata, type, data = {} }, at) {
    yield* validateKeys(data, at.data)
    if (sizeOf(data, 'base64') > MAX_DATA_BYTES) yield tooLong(at.data, MAX_DATA_BYTES)
    const has = (key: string) => Object.hasOwn(data, key)
    const need = (key: string) => required(entry(at.data, key))
    switch (type) {
      case 'kubernetes.io/service-account-token':
        if (!metadata.annotations?.[ACCOUNT_NAME]) yield required(entry(at.metadata.annotations, ACCOUNT_NAME))
        break
      case 'kubernetes.io/dockercfg':
        yield* validateDockerConfig(data, '.dockercfg', at.data)
        break
      case 'kubernetes.io/dockerconfigjson':
        yield* validateDockerConfig(data, '.dockerconfigjson', at.data)
        break
      case 'kubernetes.io/basic-auth':
        if (!has('username') && !has('password')) yield* [need('username'), need('password')]
        break
      case 'kubernetes.io/ssh-auth':
        if (!data['ssh-privatekey']) yield need('ssh-privatekey')
        break
      case 'kubernetes.io/tls':
        for (const key of ['tls.crt', 'tls.key']) if (!has(key)) yield need(key)
        break
    }
  },
  *warn({ type, data = {} }) {
    if (type !== 'kubernetes.io/tls') return
    const problem = keyPairProblem(decode(data['tls.crt']), decode(data['tls.key']))
    if (problem !== undefined) yield problem
  },

  selectable: { type: o => o.type },

  columns: {
    Type: [
      'string',
      o => o.type,
      'Used to facilitate programmatic handling of secret data. More info: https://kubernetes.io/docs/concepts/configuration/secret/#secret-types',
    ],
    Data: [
      'string',
      o => Object.keys(o.data ?? {}).length,
      "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4",
    ],
    Age: age,
  },
})

/** An object of the kind Secret. */
export type Secret = ObjectOf<typeof Secret>

const decode = (base64 = '') => Buffer.from(base64, 'base64')

/** The value is a JSON object; it is not shown in errors. */
function* validateDockerConfig(data: Record<string, string>, key: string, at: Ref<Record<string, string>>): Iterable<FieldError> {
  const here = entry(at, key)
  if (!Object.hasOwn(data, key)) return yield required(here)
  const problem = jsonObjectProblem(decode(data[key]))
  if (problem !== undefined) yield invalid(withValue(here, '<secret contents redacted>'), problem)
}

function jsonObjectProblem(text: Uint8Array): string | undefined {
  try {
    const { value } = parseJson(text, { trusted: true, limit: LIMITS.values.other.decoded })
    if (isObject(value) || value === null) return undefined
    return `json: cannot unmarshal ${jsonTypeName(value)} into Go value of type map[string]interface {}`
  } catch (error) {
    if (error instanceof JsonError) return error.message
    throw error
  }
}

/** The error of a key pair; undefined when a TLS server could use it. */
function keyPairProblem(certificatePem: Buffer, keyPem: Buffer): string | undefined {
  const certificates = pemTypes(certificatePem)
  if (!certificates.includes('CERTIFICATE')) return missingCertificate(certificates)
  const keys = pemTypes(keyPem)
  if (!keys.some(isKeyType)) return missingKey(keys)
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(certificatePem)
  } catch {
    return 'x509: malformed certificate'
  }
  let key: KeyObject
  try {
    key = createPrivateKey(keyPem)
  } catch {
    return 'tls: failed to parse private key'
  }
  if (createPublicKey(key).asymmetricKeyType !== certificate.publicKey.asymmetricKeyType)
    return 'tls: private key type does not match public key type'
  return certificate.checkPrivateKey(key) ? undefined : 'tls: private key does not match public key'
}

const isKeyType = (type: string) => type === 'PRIVATE KEY' || type.endsWith(' PRIVATE KEY')

function pemTypes(pem: Buffer): string[] {
  return [...pem.toString('latin1').matchAll(/^-----BEGIN ([^\r\n]*?)-----[^-]*-----END \1-----/gm)].map(([, type]) => type!)
}

function missingCertificate(found: readonly string[]): string {
  if (found.length === 0) return 'tls: failed to find any PEM data in certificate input'
  if (found.length === 1 && found[0]!.endsWith('PRIVATE KEY'))
    return 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched'
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${found.join(' ')}]`
}

function missingKey(found: readonly string[]): string {
  if (found.length === 0) return 'tls: failed to find any PEM data in key input'
  if (found.length === 1 && found[0] === 'CERTIFICATE') return 'tls: found a certificate rather than a key in the PEM for the private key'
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${found.join(' ')}]`
}
