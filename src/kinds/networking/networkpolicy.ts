/** NetworkPolicy restricts the traffic to and from pods. */
import { cidrContains, parseInterfaceAddress, warningsForCIDR } from '../../lib/ip.ts'
import { isValidPortName, isValidPortNum } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import {
  type FieldError,
  forbidden,
  hasErrors,
  invalid,
  invalidEach,
  pathOf,
  type Ref,
  refTo,
  required,
  unsupported,
} from '../../schema/refs.ts'
import { atomic, int32, intOrString, message, type Static, string } from '../../schema/types.ts'
import { type AddressRules, addressRules } from '../rules/address-rules.ts'
import { formatLabelSelector, LabelSelector, validateLabelSelector } from '../rules/meta.ts'

const NetworkPolicyPort = message('NetworkPolicyPort', {
  protocol: [1, string.listed('SCTP', 'TCP', 'UDP').optional().default('TCP'), 'TCP, UDP or SCTP.'],
  port: [2, intOrString.optional(), 'A port by number or name; all when absent.'],
  endPort: [3, int32.optional(), 'The last port of a range that begins with port.'],
})
type Port = Static<typeof NetworkPolicyPort>

const IPBlock = message('IPBlock', {
  cidr: [1, string.always(), 'A block of addresses, such as 192.168.1.0/24.'],
  except: [2, atomic(string), 'Blocks inside of it that are left out.'],
})
type IPBlock = Static<typeof IPBlock>

const NetworkPolicyPeer = message('NetworkPolicyPeer', {
  podSelector: [1, LabelSelector, 'Pods, of the namespaces selected or else of the policy.'],
  namespaceSelector: [2, LabelSelector, 'Namespaces by their labels.'],
  ipBlock: [3, IPBlock, 'Addresses; not together with a selector.'],
})
type Peer = Static<typeof NetworkPolicyPeer>

const NetworkPolicyIngressRule = message('NetworkPolicyIngressRule', {
  ports: [1, atomic(NetworkPolicyPort), 'Ports that may be reached; all when empty.'],
  from: [2, atomic(NetworkPolicyPeer), 'The peers that may reach the pods; all peers when empty.'],
})

const NetworkPolicyEgressRule = message('NetworkPolicyEgressRule', {
  ports: [1, atomic(NetworkPolicyPort), 'Ports that traffic may go to; all when empty.'],
  to: [2, atomic(NetworkPolicyPeer), 'Where it may go; everywhere when empty.'],
})

const NetworkPolicySpec = message('NetworkPolicySpec', {
  podSelector: [1, LabelSelector.orEmpty(), 'Pods that the policy is for; all of the namespace when empty.'],
  ingress: [2, atomic(NetworkPolicyIngressRule), 'The permitted incoming traffic of the pods.'],
  egress: [3, atomic(NetworkPolicyEgressRule), 'The permitted outgoing traffic of the pods.'],
  policyTypes: [4, atomic(string.listed('Egress', 'Ingress')), 'Which directions are restricted: Ingress, Egress or both.'],
})
type Spec = Static<typeof NetworkPolicySpec>

export const NetworkPolicy = defineKind({
  group: 'networking.{group_domain}',
  version: 'v1',
  kind: 'NetworkPolicy',
  scope: 'Namespaced',
  names: { plural: 'networkpolicies', short: ['netpol'] },
  doc: 'Which traffic may reach pods and leave them.',
  spec: NetworkPolicySpec,
  generation: true,

  defaults({ spec }) {
    if (!spec.policyTypes?.length) spec.policyTypes = spec.egress?.length ? ['Ingress', 'Egress'] : ['Ingress']
  },
  *validate({ spec }, { spec: at }, { old, gate }) {
    const leniency: Leniency = {
      allowInvalidValues: old !== undefined && hasErrors(validateLabelSelector(old.spec.podSelector, refTo(old.spec.podSelector))),
      blocks: new Set(old ? textsOf(old.spec) : []),
      rules: addressRules(gate),
    }
    yield* validateLabelSelector(spec.podSelector, at.podSelector, leniency)
    for (const [rules, peers, here] of directions(spec, at)) {
      for (const [i, rule] of rules.entries()) {
        const within = here[i]!
        for (const [j, port] of (rule.ports ?? []).entries()) yield* validatePort(port, within.ports[j]!)
        for (const [j, peer] of (rule[peers] ?? []).entries()) yield* validatePeer(peer, within[peers][j]!, leniency)
      }
    }
    yield* validatePolicyTypes(spec.policyTypes ?? [], at.policyTypes)
    for (const { block, at: blockAt } of blocksOf(spec, at)) if (!block.cidr) yield required(blockAt().cidr)
  },
  *warn({ spec }) {
    for (const { block, at } of blocksOf(spec, refTo(spec, 'spec'))) {
      yield* warningsForCIDR(() => pathOf(at().cidr), block.cidr)
      for (const [i, part] of (block.except ?? []).entries()) yield* warningsForCIDR(() => pathOf(at().except[i]!), part)
    }
  },

  columns: {
    'Pod-Selector': [
      'string',
      o => formatLabelSelector(o.spec.podSelector),
      "podSelector selects the pods to which this NetworkPolicy object applies. The array of rules is applied to any pods selected by this field. An empty selector matches all pods in the policy's namespace. Multiple network policies can select the same set of pods. In this case, the ingress rules for each are combined additively. This field is optional. If it is not specified, it defaults to an empty selector.",
    ],
    Age: age,
  },
})

/** An object of the kind NetworkPolicy. */
export type NetworkPolicy = ObjectOf<typeof NetworkPolicy>

/** Values that were stored before they were checked may stay. */
type Leniency = { readonly allowInvalidValues: boolean; readonly blocks: ReadonlySet<string>; readonly rules: AddressRules }

type Rule = { ports?: Port[]; from?: Peer[]; to?: Peer[] }
/** The rules of both directions, with the name of their peers. */
const directions = (spec: Spec, at: Ref<Spec>): [readonly Rule[], 'from' | 'to', Ref<Rule[]>][] => [
  [spec.ingress ?? [], 'from', at.ingress as Ref<Rule[]>],
  [spec.egress ?? [], 'to', at.egress as Ref<Rule[]>],
]

/** All blocks. Refs are created on demand. */
function* blocksOf(spec: Spec, at: Ref<Spec>): Iterable<{ readonly block: IPBlock; readonly at: () => Ref<IPBlock> }> {
  for (const [rules, peers, here] of directions(spec, at))
    for (const [i, rule] of rules.entries())
      for (const [j, { ipBlock }] of (rule[peers] ?? []).entries())
        if (ipBlock) yield { block: ipBlock, at: () => here[i]![peers][j]!.ipBlock }
}

function* textsOf(spec: Spec): Iterable<string> {
  for (const { block } of blocksOf(spec, refTo(spec))) {
    yield block.cidr
    yield* block.except ?? []
  }
}

const PROTOCOLS = ['TCP', 'UDP', 'SCTP']

function* validatePort({ protocol, port, endPort }: Port, at: Ref<Port>): Iterable<FieldError> {
  if (!PROTOCOLS.includes(protocol)) yield unsupported(at.protocol, ...PROTOCOLS)
  if (port === undefined) {
    if (endPort !== undefined) yield invalid(at.endPort, 'may not be specified when `port` is not specified')
  } else if (typeof port === 'string') {
    if (endPort !== undefined) yield invalid(at.endPort, 'may not be specified when `port` is non-numeric')
    yield* invalidEach(at.port, isValidPortName(port))
  } else {
    yield* invalidEach(at.port, isValidPortNum(port))
    if (endPort === undefined) return
    if (endPort < port) yield invalid(at.endPort, 'must be greater than or equal to `port`')
    yield* invalidEach(at.endPort, isValidPortNum(endPort))
  }
}

function* validatePeer(peer: Peer, at: Ref<Peer>, leniency: Leniency): Iterable<FieldError> {
  const { podSelector, namespaceSelector, ipBlock } = peer
  if (podSelector) yield* validateLabelSelector(podSelector, at.podSelector, leniency)
  if (namespaceSelector) yield* validateLabelSelector(namespaceSelector, at.namespaceSelector, leniency)
  if (ipBlock?.cidr) yield* validateBlock(ipBlock, at.ipBlock, leniency)
  const bySelector = podSelector !== undefined || namespaceSelector !== undefined
  if (!bySelector && !ipBlock) yield required(at, 'must specify a peer')
  else if (bySelector && ipBlock) yield forbidden(at, 'may not specify both ipBlock and another peer')
}

function* validateBlock({ cidr, except = [] }: IPBlock, at: Ref<IPBlock>, { blocks, rules }: Leniency): Iterable<FieldError> {
  const faults = rules.cidr(cidr, blocks)
  if (faults.length > 0) yield* invalidEach(at.cidr, faults)
  const whole = parseInterfaceAddress(cidr)?.cidr
  if (!whole) return
  for (const [i, text] of except.entries()) {
    yield* invalidEach(at.except[i]!, rules.cidr(text, blocks))
    const part = parseInterfaceAddress(text)?.cidr
    if (part && (!cidrContains(whole, part.network) || whole.prefix >= part.prefix))
      yield invalid(at.except[i]!, 'must be a strict subset of `cidr`')
  }
}

function* validatePolicyTypes(types: readonly string[], at: Ref<string[]>): Iterable<FieldError> {
  if (types.length > 2) return yield invalid(at, 'may not specify more than two policyTypes')
  for (const [i, type] of types.entries()) if (type !== 'Ingress' && type !== 'Egress') yield unsupported(at[i]!, 'Ingress', 'Egress')
}
