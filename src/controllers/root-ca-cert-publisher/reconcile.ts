/** The certificate authority by which pods know this server: a ConfigMap of the same name in every namespace holds it. */
import type { ConfigMap } from '../../kinds/core/configmap.ts'
import { deepEqual } from '../../lib/json-value.ts'
import type { Step } from '../every-namespace/controller.ts'

type Stored = ConfigMap

export const ROOT_CA = 'kube-root-ca.crt'
const DESCRIPTION = 'kubernetes.io/description'
const TEXT =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. ' +
  'No other usage is guaranteed across distributions of Kubernetes clusters.'

/** The map holds only the certificate authority, and an annotation describes its purpose. */
export function nextStep(authority: string, stored: Stored | undefined): Step<Stored> | undefined {
  const data = { 'ca.crt': authority }
  if (!stored) return { step: 'create', object: { metadata: { name: ROOT_CA, annotations: { [DESCRIPTION]: TEXT } }, data } }
  const { metadata } = stored
  if (deepEqual(stored.data ?? {}, data) && metadata.annotations?.[DESCRIPTION]) return undefined
  const annotations = { ...metadata.annotations, [DESCRIPTION]: TEXT }
  return { step: 'update', object: { ...stored, metadata: { ...metadata, annotations }, data } }
}
