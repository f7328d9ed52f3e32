/** Answers a worker's questions about stored objects, with a stamp of each answer: a result is valid while the stamps stay the same. */

import type { Named } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import { ClusterTrustBundle } from '../../kinds/certificates/clustertrustbundle.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { Service } from '../../kinds/core/service/service.ts'
import { matchesLabels } from '../../kinds/rules/meta.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { ObjectRevision } from '../../schema/object-revision.ts'
import type { Question } from './command-job.ts'

/** A question about stored objects. */
export type ObjectQuestion = Exclude<Question, { about: 'token' }>

/** The JSON of the answer; undefined when the object does not exist. */
export function answerTo(
  client: Client,
  pod: Required<Named> & { readonly uid: string },
  question: ObjectQuestion,
): Uint8Array | undefined {
  switch (question.about) {
    case 'pod': {
      const found = client.of(Pod).revision(pod)
      return found?.uid === pod.uid ? found.json : undefined
    }
    case 'configmaps':
    case 'secrets':
      return objectOf(client, pod.namespace, question)?.json
    case 'services':
      return listOf(servicesOf(client, pod.namespace, question.withOwn))
    case 'bundles':
      return Buffer.from(JSON.stringify([...bundlesOf(client, question)].map(({ object }) => object?.spec.trustBundle ?? '')))
  }
}

/** Changes whenever the answer does. */
export function stampOf(client: Client, namespace: string, question: ObjectQuestion): string {
  switch (question.about) {
    case 'pod':
      return ''
    case 'configmaps':
    case 'secrets':
      return String(objectOf(client, namespace, question)?.revision ?? 0)
    case 'services':
      return stampOfAll(servicesOf(client, namespace, question.withOwn))
    case 'bundles':
      return stampOfAll(bundlesOf(client, question))
  }
}

const objectOf = (
  client: Client,
  namespace: string,
  { about, name }: { readonly about: 'configmaps' | 'secrets'; readonly name: string },
) => (about === 'secrets' ? client.of(Secret).revision({ namespace, name }) : client.of(ConfigMap).revision({ namespace, name }))

/** The API server's service, and those of the namespace. */
function* servicesOf(client: Client, namespace: string, withOwn: boolean): Iterable<ObjectRevision<any>> {
  const services = client.of(Service)
  const server = services.revision({ namespace: 'default', name: 'kubernetes' })
  if (server && !(withOwn && namespace === 'default')) yield server
  if (withOwn) yield* services.revisions({ namespace })
}

function* bundlesOf(client: Client, { projection }: Extract<Question, { about: 'bundles' }>) {
  const { name, signerName = '', labelSelector } = projection
  const bundles = client.of(ClusterTrustBundle)
  if (name === undefined) {
    for (const bundle of bundles.revisions({ field: { key: 'spec.signerName', value: signerName } }))
      if (matchesLabels(labelSelector, bundle.labels)) yield bundle
    return
  }
  const bundle = bundles.revision({ name })
  if (bundle) yield bundle
}

/** A deletion changes the count, any other change the newest revision. */
function stampOfAll(revisions: Iterable<ObjectRevision<any>>): string {
  let [count, newest] = [0, 0]
  for (const { revision } of revisions) {
    count++
    newest = Math.max(newest, revision)
  }
  return `${count}@${newest}`
}

const [OPEN, COMMA, CLOSE] = ['[', ',', ']'].map(text => Buffer.from(text)) as [Buffer, Buffer, Buffer]

/** A list of stored objects as JSON: as many as a command may read and one more, so that it exceeds its limit. */
function listOf(revisions: Iterable<ObjectRevision<any>>): Uint8Array {
  const parts: Uint8Array[] = []
  let size = 0
  for (const { json } of revisions) {
    parts.push(parts.length === 0 ? OPEN : COMMA, json)
    size += json.byteLength
    if (size > LIMITS.commands.budget.inputs) break
  }
  return Buffer.concat([...(parts.length === 0 ? [OPEN] : parts), CLOSE])
}
