/** Ingress routes requests from outside to services by host and path. */

import { parseIPSloppy, warningsForIP } from '../../lib/ip.ts'
import {
  isDNS1035Label,
  isDNS1123Subdomain,
  isValidPathSegmentName,
  isValidPortName,
  isValidPortNum,
  isWildcardDNS1123Subdomain,
  nameIsDNSLabel,
  nameIsDNSSubdomain,
} from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, invalid, invalidEach, type Ref, refTo, required, unsupported, withValue } from '../../schema/refs.ts'
import { atomic, inlined, int32, message, type Static, string } from '../../schema/types.ts'
import { type AddressRules, addressRules } from '../rules/address-rules.ts'
import { TypedLocalObjectReference } from '../rules/references.ts'

const ServiceBackendPort = message('ServiceBackendPort', {
  name: [1, string, 'Name of the port; either this or the number.'],
  number: [2, int32, 'Number of the port.'],
}).atomic()

const IngressServiceBackend = message('IngressServiceBackend', {
  name: [1, string.always(), 'Name of the service, in the same namespace.'],
  port: [2, ServiceBackendPort.orEmpty(), 'Port of the service.'],
})

const IngressBackend = message('IngressBackend', {
  service: [4, IngressServiceBackend, 'A service; either this or a resource.'],
  resource: [3, TypedLocalObjectReference, 'Another object in the same namespace that answers.'],
})
type IngressBackend = Static<typeof IngressBackend>

const IngressTLS = message('IngressTLS', {
  hosts: [1, atomic(string), 'The hosts of the certificate.'],
  secretName: [2, string, 'The secret with certificate and key.'],
})
type IngressTLS = Static<typeof IngressTLS>

const HTTPIngressPath = message('HTTPIngressPath', {
  path: [1, string, 'The path of requests, beginning with a slash.'],
  pathType: [
    3,
    string.listed('Exact', 'ImplementationSpecific', 'Prefix').always().openapiDefault(),
    'How paths are compared: Exact, Prefix or ImplementationSpecific.',
  ],
  backend: [2, IngressBackend.orEmpty().expected(), 'Where such requests go.'],
})
type HTTPIngressPath = Static<typeof HTTPIngressPath>

const HTTPIngressRuleValue = message('HTTPIngressRuleValue', {
  paths: [1, atomic(HTTPIngressPath).always(), 'Paths and their backends.'],
})

const IngressRule = message('IngressRule', {
  host: [1, string, 'The host of requests, or `*.` and a domain; any when absent.'],
  ...inlined(2, { http: [1, HTTPIngressRuleValue, 'The paths of the host and their backends.'] }),
})
type IngressRule = Static<typeof IngressRule>

const IngressSpec = message('IngressSpec', {
  ingressClassName: [4, string.optional(), 'The IngressClass whose controller serves this.'],
  defaultBackend: [1, IngressBackend, 'Where requests go that match no rule.'],
  tls: [2, atomic(IngressTLS), 'Certificates by host.'],
  rules: [3, atomic(IngressRule), 'Hosts and paths; without any, all traffic is routed to the default backend.'],
})
type IngressSpec = Static<typeof IngressSpec>

const IngressPortStatus = message('IngressPortStatus', {
  port: [1, int32.always(), 'Number of the port.'],
  protocol: [2, string.listed('SCTP', 'TCP', 'UDP').always(), 'Its protocol: TCP, UDP or SCTP.'],
  error: [3, string.optional(), 'The error of the port, if there is one.'],
})

const IngressLoadBalancerIngress = message('IngressLoadBalancerIngress', {
  ip: [1, string, 'The address, where the load balancer has one.'],
  hostname: [2, string, 'The host name, where it has one.'],
  ports: [4, atomic(IngressPortStatus), 'The ports it serves.'],
})

const IngressLoadBalancerStatus = message('IngressLoadBalancerStatus', {
  ingress: [1, atomic(IngressLoadBalancerIngress), 'Points at which the load balancer can be reached.'],
})
type IngressLoadBalancerStatus = Static<typeof IngressLoadBalancerStatus>

const IngressStatus = message('IngressStatus', {
  loadBalancer: [1, IngressLoadBalancerStatus.orEmpty(), 'Where the Ingress can be reached.'],
})

/** The annotation that named a class before there was a field; still honoured. */
const CLASS_ANNOTATION = 'kubernetes.io/ingress.class'

export const Ingress = defineKind({
  group: 'networking.{group_domain}',
  version: 'v1',
  kind: 'Ingress',
  scope: 'Namespaced',
  names: { plural: 'ingresses', short: ['ing'] },
  keptUnder: 'ingress',
  doc: 'Routes requests from outside to services.',
  spec: IngressSpec,
  status: IngressStatus,
  generation: true,

  *validate({ metadata: { annotations = {} }, spec }, at, { old, gate }) {
    yield* validateIngressSpec(spec, at.spec)
    if (!gate('RelaxedServiceNameValidation') && !(old && namesDigitsFirst(old.spec))) yield* validateServiceNames(spec, at.spec)
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
      *validate({ status }, { status: at }, { old, gate }) {
        yield* validateLoadBalancer(status.loadBalancer, at.loadBalancer, { old: old?.status.loadBalancer, rules: addressRules(gate) })
      },
      *validateUpdate() {},
      *warn({ status: { loadBalancer } }) {
        for (const [i, { ip = '' }] of (loadBalancer?.ingress ?? []).entries())
          yield* warningsForIP(() => `status.loadBalancer.ingress[${i}]`, ip)
      },
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

/** An object of the kind Ingress. */
export type Ingress = ObjectOf<typeof Ingress>

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

/** Rules for the spec. */
function* validateIngressSpec(spec: IngressSpec, at: Ref<IngressSpec>): Iterable<FieldError> {
  const { ingressClassName, defaultBackend, rules = [], tls = [] } = spec
  if (rules.length === 0 && !defaultBackend) yield invalid(withValue(at, null), 'either `defaultBackend` or `rules` must be specified')
  if (defaultBackend) yield* validateBackend(defaultBackend, at.defaultBackend)
  for (const [i, { host, http }] of rules.entries()) {
    if (host) yield* validateHost(host, at.rules[i]!.host)
    if (!http) continue
    const paths = http.paths ?? []
    if (paths.length === 0) yield required(at.rules[i]!.http.paths)
    for (const [j, path] of paths.entries()) yield* validatePath(path, at.rules[i]!.http.paths[j]!)
  }
  for (const [i, each] of tls.entries()) yield* validateTLS(each, at.tls[i]!)
  if (ingressClassName !== undefined) yield* invalidEach(at.ingressClassName, nameIsDNSSubdomain(ingressClassName))
}

/** The names of the services behind an Ingress, with their field paths. */
function* servicesOf({ defaultBackend, rules = [] }: IngressSpec, at: Ref<IngressSpec>): Iterable<readonly [string, Ref<string>]> {
  if (defaultBackend?.service) yield [defaultBackend.service.name, at.defaultBackend.service.name]
  for (const [i, { http }] of rules.entries())
    for (const [j, { backend }] of (http?.paths ?? []).entries())
      if (backend.service) yield [backend.service.name, at.rules[i]!.http.paths[j]!.backend.service.name]
}

const faultsOf1035 = (name: string): string[] => (nameIsDNSLabel(name).length === 0 ? isDNS1035Label(name) : [])

/** Names that begin with a digit were no names of services in earlier releases; any other fault is found with its backend. */
function* validateServiceNames(spec: IngressSpec, at: Ref<IngressSpec>): Iterable<FieldError> {
  for (const [name, here] of servicesOf(spec, at)) yield* invalidEach(here, faultsOf1035(name))
}

function namesDigitsFirst(spec: IngressSpec): boolean {
  return Array.from(servicesOf(spec, refTo(spec)), ([name]) => faultsOf1035(name)).some(faults => faults.length > 0)
}

/** Rules for the addresses of the Ingress; stored addresses may stay as they are. */
function* validateLoadBalancer(
  { ingress = [] }: IngressLoadBalancerStatus,
  at: Ref<IngressLoadBalancerStatus>,
  { old, rules }: { readonly old: IngressLoadBalancerStatus | undefined; readonly rules: AddressRules },
): Iterable<FieldError> {
  const stored = new Set((old?.ingress ?? []).flatMap(({ ip }) => ip ?? []))
  for (const [i, { ip, hostname }] of ingress.entries()) {
    const here = at.ingress[i]!
    if (ip) yield* invalidEach(here.ip, rules.ip(ip, stored))
    if (!hostname) continue
    yield* invalidEach(here.hostname, isDNS1123Subdomain(hostname))
    if (parseIPSloppy(hostname)) yield invalid(here.hostname, NOT_AN_ADDRESS)
  }
}

const NOT_AN_ADDRESS = 'must be a DNS name, not an IP address'

const domainMessages = (host: string) => (host.includes('*') ? isWildcardDNS1123Subdomain(host) : isDNS1123Subdomain(host))

function* validateHost(host: string, at: Ref<string>): Iterable<FieldError> {
  if (parseIPSloppy(host)) yield invalid(at, NOT_AN_ADDRESS)
  yield* invalidEach(at, domainMessages(host))
}

function* validateTLS({ hosts = [], secretName }: IngressTLS, at: Ref<IngressTLS>): Iterable<FieldError> {
  for (const [i, host] of hosts.entries()) yield* invalidEach(at.hosts[i]!, domainMessages(host))
  if (secretName) yield* invalidEach(at.secretName, nameIsDNSSubdomain(secretName))
}

function* validatePath({ path = '', pathType, backend }: HTTPIngressPath, at: Ref<HTTPIngressPath>): Iterable<FieldError> {
  if (!pathType) return yield required(at.pathType, 'pathType must be specified')
  const isAbsolute = path.startsWith('/')
  switch (pathType) {
    case 'Exact':
    case 'Prefix':
      if (!isAbsolute) yield invalid(at.path, 'must be an absolute path')
      for (const part of ['//', '/./', '/../', '%2f', '%2F']) if (path.includes(part)) yield invalid(at.path, `must not contain '${part}'`)
      for (const end of ['/..', '/.']) if (path.endsWith(end)) yield invalid(at.path, `cannot end with '${end}'`)
      break
    case 'ImplementationSpecific':
      if (path !== '' && !isAbsolute) yield invalid(at.path, 'must be an absolute path')
      break
    default:
      yield unsupported(at.pathType, 'Exact', 'ImplementationSpecific', 'Prefix')
  }
  yield* validateBackend(backend, at.backend)
}

function* validateBackend({ resource, service }: IngressBackend, at: Ref<IngressBackend>): Iterable<FieldError> {
  const whole = withValue(at, '')
  if (resource && service) yield invalid(whole, 'cannot set both resource and service backends')
  else if (resource) yield* validateResource(resource, at.resource)
  else if (service) {
    if (!service.name) yield required(at.service.name)
    else yield* invalidEach(at.service.name, nameIsDNSLabel(service.name))
    const { name, number } = service.port
    if (name && number) yield invalid(whole, 'cannot set both port name & port number')
    else if (name) yield* invalidEach(at.service.port.name, isValidPortName(name))
    else if (number) yield* invalidEach(at.service.port.number, isValidPortNum(number))
    else yield required(at, 'port name or number is required')
  } else yield invalid(whole, 'resource or service backend is required')
}

function* validateResource({ apiGroup, kind, name }: TypedLocalObjectReference, at: Ref<TypedLocalObjectReference>): Iterable<FieldError> {
  if (apiGroup) yield* invalidEach(at.apiGroup, isDNS1123Subdomain(apiGroup))
  if (!kind) yield required(at.kind)
  else yield* invalidEach(at.kind, isValidPathSegmentName(kind))
  if (!name) yield required(at.name)
  else yield* invalidEach(at.name, isValidPathSegmentName(name))
}
