/** The authority by which pods know this server: a ConfigMap of the same name in every namespace holds it. */
import { deepEqual } from '../../lib/json-value.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Step } from '../every-namespace/controller.ts'

export const ROOT_CA = 'kube-root-ca.crt'
const DESCRIPTION = 'kubernetes.io/description'
const TEXT =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. ' +
  'No other usage is guaranteed across distributions of Kubernetes clusters.'

/** The map holds the authority and nothing else, and says what it is for. */
export function nextStep(authority: string, stored: AnyObject | undefined): Step | undefined {
  const data = { 'ca.crt': authority }
  if (!stored) return { step: 'create', object: { metadata: { name: ROOT_CA, annotations: { [DESCRIPTION]: TEXT } }, data } }
  const kept: Readonly<Record<string, string>> = stored['data'] ?? {}
  if (deepEqual(kept, data) && stored.metadata.annotations?.[DESCRIPTION]) return undefined
  const removed = Object.fromEntries(
    Object.keys(kept)
      .filter(key => key !== 'ca.crt')
      .map(key => [key, null]),
  )
  const patch = { metadata: { uid: stored.metadata.uid, annotations: { [DESCRIPTION]: TEXT } }, data: { ...removed, ...data } }
  return { step: 'patch', patch }
}
