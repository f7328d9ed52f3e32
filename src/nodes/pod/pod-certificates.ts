/** Requests the certificates of the pods of one node and follows their requests. */

import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { Client } from '../../client/client.ts'
import { PodCertificateRequest } from '../../kinds/certificates/podcertificaterequest.ts'
import { PodCertificateRequestV1 } from '../../kinds/certificates/podcertificaterequest-v1.ts'
import type { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import type { VolumeProjection } from '../../kinds/rules/pod/volumes/volume-projections.ts'
import { stubRequest } from '../../lib/x509/certificate-request.ts'
import { type Credential, credentialProblem, nextCredential } from './credential.ts'
import type { PodEvent } from './pod-draft.ts'

type Source = { readonly key: string; readonly projection: NonNullable<VolumeProjection['podCertificate']> }

export type PodCertificatesParts = {
  /** The API in the name of the node. */
  readonly client: Client
  readonly random: () => number
  readonly onError: (error: unknown) => void
}

const JITTER_MS = 5 * 60_000
const [FIRST_RETRY_MS, LAST_RETRY_MS] = [1000, 300_000]

type Entry = { credential: Credential | undefined; retryMs?: number; retryAt?: number }
type Known = { readonly uid: string; readonly sources: Map<string, Entry> }

export class PodCertificates {
  readonly #parts: PodCertificatesParts
  readonly #pods = new Map<string, Known>()

  constructor(parts: PodCertificatesParts) {
    this.#parts = parts
  }

  /** Advances the certificates of a pod to the present: requests those that are missing or near their end. */
  async bring(pod: Pod, key: string, node: Node): Promise<{ readonly events: readonly PodEvent[]; readonly nextAt: number }> {
    const { uid = '', namespace = '' } = pod.metadata
    let known = this.#pods.get(key)
    if (known?.uid !== uid) this.#pods.set(key, (known = { uid, sources: new Map() }))
    const events: PodEvent[] = []
    let nextAt = Number.POSITIVE_INFINITY
    for (const source of sourcesOf(pod)) {
      const entry = known.sources.get(source.key) ?? { credential: undefined }
      known.sources.set(source.key, entry)
      const { client, random } = this.#parts
      const now = client.now.getTime()
      const before = entry.credential
      const request = before?.state === 'requested' ? client.of(PodCertificateRequest).get({ namespace, name: before.request }) : undefined
      const step = nextCredential(before, { request, now, jitterMs: random() * JITTER_MS })
      entry.credential = step.credential
      events.push(...step.events)
      nextAt = Math.min(nextAt, step.isDue ? await this.#request(pod, node, { source, entry, now }) : step.nextAt)
    }
    return { events, nextAt }
  }

  /** Why the certificate of a volume source is missing; undefined when it is there. */
  problemOf(key: string, volume: string, index: number): string | undefined {
    return credentialProblem(this.#pods.get(key)?.sources.get(sourceKey(volume, index))?.credential)
  }

  forget(key: string): void {
    this.#pods.delete(key)
  }

  /** Creates a request. Returns the time of the next attempt; infinite after success, as a watch delivers the decision. */
  async #request(pod: Pod, node: Node, { source, entry, now }: { source: Source; entry: Entry; now: number }): Promise<number> {
    if (entry.retryAt !== undefined && now < entry.retryAt) return entry.retryAt
    const held = entry.credential?.state === 'issued' ? entry.credential.held : undefined
    try {
      const request = await this.#create(pod, node, source.projection)
      entry.credential = { state: 'requested', request, ...(held && { held }) }
      delete entry.retryAt
      delete entry.retryMs
      return Number.POSITIVE_INFINITY
    } catch (error) {
      this.#parts.onError(error)
      entry.retryMs = Math.min((entry.retryMs ?? FIRST_RETRY_MS / 2) * 2, LAST_RETRY_MS)
      entry.retryAt = now + entry.retryMs
      return entry.retryAt
    }
  }

  async #create({ metadata, spec }: Pod, node: Node, projection: Source['projection']): Promise<string> {
    const { client } = this.#parts
    const { namespace = '', name = '', uid = '' } = metadata
    const { serviceAccountName = '' } = spec
    const account = client.of(ServiceAccount).get({ namespace, name: serviceAccountName })
    if (!account) throw new Error(`while fetching service account: serviceaccounts "${serviceAccountName}" not found`)
    const { signerName = '', keyType = '', maxExpirationSeconds, userAnnotations } = projection
    const created = await client.of(PodCertificateRequestV1).create({
      metadata: { namespace, generateName: 'req-', ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }] },
      spec: {
        signerName,
        podName: name,
        podUID: uid,
        serviceAccountName,
        serviceAccountUID: account.metadata.uid,
        nodeName: node.metadata.name,
        nodeUID: node.metadata.uid,
        ...(maxExpirationSeconds !== undefined && { maxExpirationSeconds }),
        stubPKCS10Request: (await proofOfKey(keyType)).toString('base64'),
        ...(userAnnotations && { unverifiedUserAnnotations: userAnnotations }),
      },
    })
    if (!created) throw new Error('the name that was generated for a request is taken')
    return created.object.metadata.name!
  }
}

/** The certificate sources of a pod, in order. */
function* sourcesOf({ spec }: Pod): Iterable<Source> {
  for (const { name, projected } of spec.volumes ?? [])
    for (const [index, { podCertificate }] of (projected?.sources ?? []).entries())
      if (podCertificate) yield { key: sourceKey(name, index), projection: podCertificate }
}

const sourceKey = (volume: string, index: number) => `${volume}/${index}`

type EncodedPair = { readonly publicKey: string; readonly privateKey: string }
const generate = promisify(generateKeyPair) as unknown as (type: string, options: object) => Promise<EncodedPair>
/** Encoded, as key objects that come from a generator may deadlock (`lib/x509/new-key.ts`). */
const ENCODED = { publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } }
const KEYS: Readonly<Record<string, readonly [type: string, options: object]>> = {
  RSA3072: ['rsa', { modulusLength: 3072 }],
  RSA4096: ['rsa', { modulusLength: 4096 }],
  ECDSAP256: ['ec', { namedCurve: 'P-256' }],
  ECDSAP384: ['ec', { namedCurve: 'P-384' }],
  ECDSAP521: ['ec', { namedCurve: 'P-521' }],
  ED25519: ['ed25519', {}],
}

/** A request signed with a new key. No program would use the key, so it is not kept. */
async function proofOfKey(keyType: string): Promise<Buffer> {
  const [type, options] = KEYS[keyType] ?? []
  if (type === undefined || options === undefined) throw new Error(`unknown key type ${JSON.stringify(keyType)}`)
  const { publicKey, privateKey } = await generate(type, { ...options, ...ENCODED })
  return stubRequest({ publicKey: createPublicKey(publicKey), privateKey: createPrivateKey(privateKey) })
}
