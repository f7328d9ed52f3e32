/** Ingress routes requests from outside to services by host and path. */
import { age } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { invalid, refTo } from '../../schema/refs.ts'
import { validateIngressSpec, validateLoadBalancer } from './ingress-rules.ts'
import { type IngressRule, IngressSpec, IngressStatus } from './ingress-shapes.ts'

/** The way to name a class before there was a field for it; still honoured. */
const CLASS_ANNOTATION = 'kubernetes.io/ingress.class'

export const Ingress = defineKind({
  group: 'networking.{group_domain}',
  version: 'v1',
  kind: 'Ingress',
  scope: 'Namespaced',
  names: { plural: 'ingresses', short: ['ing'] },
  doc: 'Routes requests from outside to services.',
  spec: IngressSpec,
  status: IngressStatus,
  generation: true,

  *validate({ metadata: { annotations = {} }, spec }, at, { old }) {
    yield* validateIngressSpec(spec, at.spec)
    const named = Object.hasOwn(annotations, CLASS_ANNOTATION) ? annotations[CLASS_ANNOTATION] : undefined
    if (old === undefined && named !== undefined && spec.ingressClassName !== undefined && named !== spec.ingressClassName)
      yield invalid(refTo(named, `annotations.${CLASS_ANNOTATION}`), 'must match `ingressClassName` when both are specified')
  },
  *warn({ metadata, spec }, old) {
    if (old === undefined && spec.ingressClassName === undefined && Object.hasOwn(metadata.annotations ?? {}, CLASS_ANNOTATION))
      yield `annotation "${CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead`
  },

  subresources: {
    status: {
      *validate({ status }, { status: at }, { old }) {
        yield* validateLoadBalancer(status.loadBalancer, at.loadBalancer, old?.status.loadBalancer)
      },
      *validateUpdate() {},
    },
  },

  columns: {
    Class: [
      'string',
      o => o.spec.ingressClassName ?? '<none>',
      'The name of the IngressClass resource that should be used for additional configuration',
    ],
    Hosts: ['string', o => formatHosts(o.spec.rules ?? []), 'Hosts that incoming requests are matched against before the ingress rule'],
    Address: ['string', o => formatAddresses(o.status.loadBalancer), 'Address is a list containing ingress points for the load-balancer'],
    Ports: ['string', o => (o.spec.tls?.length ? '80, 443' : '80'), 'Ports of TLS configurations that open'],
    Age: age,
  },
})

const HOSTS_SHOWN = 3

function formatHosts(rules: readonly IngressRule[]): string {
  const hosts: string[] = []
  let more = false
  for (const { host } of rules) {
    if (hosts.length === HOSTS_SHOWN) more = true
    else if (host) hosts.push(host)
  }
  if (hosts.length === 0) return '*'
  return `${hosts.join(',')}${more ? ` + ${rules.length - HOSTS_SHOWN} more...` : ''}`
}

function formatAddresses({ ingress = [] }: { ingress?: { ip?: string; hostname?: string }[] }): string {
  const points = ingress.flatMap(({ ip, hostname }) => ip || hostname || [])
  return [...new Set(points)].sort().join(',')
}
