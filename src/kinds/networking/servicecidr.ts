/** ServiceCIDR names the address blocks from which Services get their cluster IPs. */
import { isValidCIDR, parseInterfaceAddress } from '../../lib/ip.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, invalid, invalidEach, type Ref, required, withValue } from '../../schema/refs.ts'
import { atomic, keyed, message, type Static, string } from '../../schema/types.ts'
import { Condition } from '../rules/meta.ts'

const ServiceCIDRSpec = message('ServiceCIDRSpec', {
  cidrs: [1, atomic(string), 'One block, or one of each address family. Cannot change, except that a second family may be added.'],
})

const ServiceCIDRStatus = message('ServiceCIDRStatus', {
  conditions: [1, keyed(Condition, 'type').mergedBy('type'), 'Whether addresses are given from these blocks.'],
})

export const ServiceCIDR = defineKind({
  group: 'networking.{group_domain}',
  version: 'v1',
  kind: 'ServiceCIDR',
  scope: 'Cluster',
  names: { plural: 'servicecidrs' },
  doc: 'Blocks of addresses for Services.',
  lifecycle: { introduced: '1.33' },
  otherVersions: {
    v1beta1: { introduced: '1.31', deprecated: '1.34', removed: '1.37' },
  },
  spec: ServiceCIDRSpec,
  status: ServiceCIDRStatus,
  statusGate: 'ServiceCIDRStatusFieldWiping',

  *validateUpdate({ spec: { cidrs = [] } }, { spec: { cidrs: old = [] } }, { spec: at }) {
    if (cidrs.length !== old.length && !(old.length === 1 && cidrs.length === 2)) yield invalid(withValue(at.cidrs, cidrs), IMMUTABLE)
    else for (const [i, cidr] of old.entries()) if (cidrs[i] !== cidr) yield invalid(at.cidrs[i]!, IMMUTABLE)
  },
  *validate({ spec }, { spec: at }, { old }) {
    // Stored blocks have been checked; only a second family is new.
    if (old === undefined || (old.spec.cidrs?.length === 1 && spec.cidrs?.length === 2)) yield* validateSpec(spec, at)
  },

  subresources: { status: { keepsMetadata: true, *validate() {}, *validateUpdate() {} } },

  columns: {
    CIDRs: [
      'string',
      o => (o.spec.cidrs ?? []).join(','),
      'cidrs defines the IP blocks in CIDR notation (e.g. "192.168.0.0/24" or "2001:db8::/64") from which to assign service cluster IPs. Max of two CIDRs is allowed, one of each IP family. This field is immutable.',
    ],
    Age: age,
  },
})

/** An object of the kind ServiceCIDR. */
export type ServiceCIDR = ObjectOf<typeof ServiceCIDR>

const IMMUTABLE = 'field is immutable'

function* validateSpec({ cidrs = [] }: Static<typeof ServiceCIDRSpec>, at: Ref<Static<typeof ServiceCIDRSpec>>): Iterable<FieldError> {
  if (cidrs.length === 0) return yield required(at.cidrs, 'at least one CIDR required')
  // kube-apiserver shows the whole spec here, with the field names of its internal type.
  if (cidrs.length > 2) return yield invalid(withValue(at.cidrs, { CIDRs: cidrs }), 'may only hold up to 2 values')
  for (const [i, cidr] of cidrs.entries()) yield* invalidEach(at.cidrs[i]!, isValidCIDR(cidr))
  const [first, second] = cidrs.map(cidr => parseInterfaceAddress(cidr)?.address.family)
  if (cidrs.length === 2 && first !== undefined && first === second)
    yield invalid(at.cidrs, 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64')
}
