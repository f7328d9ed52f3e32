/** A record that was encrypted with a key of a KMS plugin: the message EncryptedObject, as kube-apiserver stores it. */
import { createHash } from 'node:crypto'
import { aggregate, goQuote } from '../../lib/go-text.ts'
import { isFullyQualifiedDomainName } from '../../lib/names.ts'
import { readFields, Writer } from '../../transport/grpc/wire.ts'
import { type Annotations, AnnotationsReader, writeAnnotations } from './kms-service.ts'

/** The plain DEK source is the key of AES-GCM, or a seed from which a key is derived for each record. */
export const KEY = 0
export const SEED = 1

/** The source of data encryption keys, as the plugin has encrypted it. */
export type DekSource = {
  readonly keyId: string
  readonly encryptedDekSource: Uint8Array
  readonly annotations: Annotations
  readonly type: number
}
export type EncryptedObject = DekSource & { readonly data: Uint8Array }

const MAX_ANNOTATIONS_BYTES = 32 * 1024
const MAX_KEY_ID_BYTES = 1024
const MAX_DEK_SOURCE_BYTES = 1024

export function encodeEncryptedObject(object: EncryptedObject): Buffer {
  checkEncryptedObject(object)
  const { data, keyId, encryptedDekSource, annotations, type } = object
  const writer = new Writer({ size: data.length + 512 }).bytes(1, data).text(2, keyId).bytes(3, encryptedDekSource)
  return writeAnnotations(writer, 4, annotations).number(5, type).finish()
}

export function decodeEncryptedObject(stored: Uint8Array): EncryptedObject {
  let [data, encryptedDekSource]: [Uint8Array, Uint8Array] = [NOTHING, NOTHING]
  let [keyId, type] = ['', 0]
  const annotations = new AnnotationsReader()
  try {
    readFields(Buffer.from(stored.buffer, stored.byteOffset, stored.length), ({ field, bytes, number }) => {
      if (field === 1) data = bytes
      else if (field === 2) keyId = bytes.toString()
      else if (field === 3) encryptedDekSource = bytes
      else if (field === 4) annotations.take(bytes)
      else if (field === 5) type = number
    })
  } catch {
    throw new Error('proto: cannot parse invalid wire-format data')
  }
  const object = { data, keyId, encryptedDekSource, annotations: annotations.all, type }
  checkEncryptedObject(object)
  return object
}
const NOTHING = new Uint8Array()

/** Throws with kube-apiserver's words. */
export function checkEncryptedObject({ data, ...source }: EncryptedObject): void {
  if (source.type !== KEY && source.type !== SEED) throw new Error(`unknown encryptedDEKSourceType: ${source.type}`)
  if (data.length === 0) throw new Error('encrypted data is empty')
  checkDekSource(source)
}

export function checkDekSource({ encryptedDekSource, keyId, annotations }: DekSource): void {
  const { length } = encryptedDekSource
  if (length === 0) throw new Error('failed to validate encrypted DEK source: encrypted DEK source is empty')
  if (length > MAX_DEK_SOURCE_BYTES)
    throw new Error(
      `failed to validate encrypted DEK source: encrypted DEK source is ${length} bytes, which exceeds the max size of ${MAX_DEK_SOURCE_BYTES}`,
    )
  const problem = keyIdProblem(keyId)
  if (problem) throw new Error(`failed to validate key id: ${problem.message}`)
  checkAnnotations(annotations)
}

export function keyIdProblem(keyId: string): { readonly type: 'empty' | 'too_long'; readonly message: string } | undefined {
  const length = Buffer.byteLength(keyId)
  if (length === 0) return { type: 'empty', message: 'keyID is empty' }
  if (length <= MAX_KEY_ID_BYTES) return undefined
  return { type: 'too_long', message: `keyID is ${length} bytes, which exceeds the max size of ${MAX_KEY_ID_BYTES}` }
}

function checkAnnotations(annotations: Annotations): void {
  const problems: string[] = []
  let size = 0
  for (const [key, value] of Object.entries(annotations)) {
    const faults = isFullyQualifiedDomainName(key).map(fault =>
      fault.type === 'required' ? 'annotations: Required value' : `annotations: Invalid value: ${goQuote(fault.value)}: ${fault.message}`,
    )
    if (faults.length > 0) problems.push(aggregate(faults))
    size += Buffer.byteLength(key) + value.length
  }
  if (size > MAX_ANNOTATIONS_BYTES)
    problems.push(`total size of annotations is ${size}, which exceeds the max size of ${MAX_ANNOTATIONS_BYTES}`)
  if (problems.length > 0) throw new Error(`failed to validate annotations: ${aggregate(problems)}`)
}

/** The same for the same source alone: the plugin is asked once for each. */
export function sourceKey({ keyId, encryptedDekSource, annotations, type }: DekSource): string {
  const writer = new Writer().number(1, type).bytes(2, encryptedDekSource).text(3, keyId)
  return createHash('sha256')
    .update(writeAnnotations(writer, 4, annotations).finish())
    .digest('base64')
}
