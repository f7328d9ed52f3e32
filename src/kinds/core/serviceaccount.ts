/** ServiceAccount is the identity of a pod, or of another program in the cluster. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { atomic, bool, keyed } from '../../schema/types.ts'
import { token } from '../authentication/token-request.ts'
import { LocalObjectReference, ObjectReference } from '../rules/references.ts'

const MOUNTABLE_ONLY = 'kubernetes.io/enforce-mountable-secrets'

export const ServiceAccount = defineKind({
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  scope: 'Namespaced',
  names: { plural: 'serviceaccounts', short: ['sa'] },
  doc: 'An identity for programs.',
  fields: {
    secrets: [2, keyed(ObjectReference, 'name').mergedBy('name'), 'Secrets that pods of this account may use.'],
    imagePullSecrets: [3, atomic(LocalObjectReference), 'Secrets with which images of its pods are pulled.'],
    automountServiceAccountToken: [4, bool.optional(), 'Whether its pods get a token unless they say otherwise.'],
  },

  prepareForCreate: keepNamesOfSecrets,
  prepareForUpdate: keepNamesOfSecrets,
  *warn(o, old) {
    if (hasMountableOnly(o) && !hasMountableOnly(old))
      yield `metadata.annotations[${MOUNTABLE_ONLY}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`
  },

  deletion: { returns: 'object' },
  subresources: { creates: { token } },
  columns: { Age: age },
})

/** An object of the kind ServiceAccount. */
export type ServiceAccount = ObjectOf<typeof ServiceAccount>

/** Secrets are in the account's own namespace: only their names are kept. */
function keepNamesOfSecrets(o: { secrets?: ObjectReference[] }): void {
  if (o.secrets) o.secrets = o.secrets.map(({ name }) => (name === undefined ? {} : { name }))
}

const hasMountableOnly = (o: { metadata: { annotations?: Record<string, string> } } | undefined) =>
  Object.hasOwn(o?.metadata.annotations ?? {}, MOUNTABLE_ONLY)
