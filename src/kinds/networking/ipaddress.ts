/** IPAddress records the object that an address is allocated to; its name is the address. Allocation for a Service creates one. */
import { isValidIP } from '../../lib/ip.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { isDNS1123Subdomain, nameIsPathSegment } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, invalid, invalidEach, type Ref, required, withValue } from '../../schema/refs.ts'
import { message, type Static, string } from '../../schema/types.ts'

const ParentReference = message('ParentReference', {
  group: [1, string, 'API group of the object; empty for the core group.'],
  resource: [2, string.always().openapiDefault(), 'The plural name of its kind, such as services.'],
  namespace: [3, string, 'Its namespace, if it has one.'],
  name: [4, string.always().openapiDefault(), 'Its name.'],
})
type ParentReference = Static<typeof ParentReference>

const IPAddressSpec = message('IPAddressSpec', {
  parentRef: [1, ParentReference.expected(), 'The object that the address is allocated to. Cannot change.'],
})

export const IPAddress = defineKind({
  group: 'networking.{group_domain}',
  version: 'v1',
  kind: 'IPAddress',
  scope: 'Cluster',
  names: { plural: 'ipaddresses', short: ['ip'] },
  doc: 'An address that is in use.',
  lifecycle: { introduced: '1.33' },
  otherVersions: {
    v1beta1: { introduced: '1.31', deprecated: '1.34', removed: '1.37' },
  },
  spec: IPAddressSpec.expected(),
  name: name => isValidIP(name),

  *validate({ spec: { parentRef } }, { spec: at }, { old }) {
    if (parentRef) yield* validateReference(parentRef, at.parentRef)
    else return yield required(at.parentRef)
    if (old && !deepEqual(parentRef, old.spec.parentRef)) return yield invalid(withValue(at.parentRef, null), 'field is immutable')
    for (const field of ['resource', 'name'] as const) if (!parentRef[field]) yield required(at.parentRef[field])
  },

  columns: {
    ParentRef: [
      'string',
      o => formatReference(o.spec.parentRef),
      'parentRef references the resource that an IPAddress is attached to. An IPAddress must reference a parent object.',
    ],
    // kube-apiserver's rows have one cell more than there are columns.
    Age: ['string', age[1], '', 'unnamed'],
  },
})

/** An object of the kind IPAddress. */
export type IPAddress = ObjectOf<typeof IPAddress>

function* validateReference(reference: ParentReference, at: Ref<ParentReference>): Iterable<FieldError> {
  if (reference.group) yield* invalidEach(at.group, isDNS1123Subdomain(reference.group))
  for (const field of ['resource', 'name', 'namespace'] as const)
    if (reference[field]) yield* invalidEach(at[field], nameIsPathSegment(reference[field]))
}

function formatReference(reference: ParentReference | undefined): string {
  if (!reference) return '<none>'
  const { group, resource = '', namespace, name = '' } = reference
  return [(group ? `${resource}.${group}` : resource).toLowerCase(), ...(namespace ? [namespace] : []), name].join('/')
}
