/** The rules of an Ingress. */
import { isValidIPForLegacyField, parseIPSloppy } from '../../lib/ip.ts'
import {
  isDNS1123Subdomain,
  isValidPathSegmentName,
  isValidPortName,
  isValidPortNum,
  isWildcardDNS1123Subdomain,
  nameIsDNSLabel,
  nameIsDNSSubdomain,
} from '../../lib/names.ts'
import { type FieldError, invalid, invalidEach, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import type { TypedLocalObjectReference } from '../shapes/references.ts'
import type { HTTPIngressPath, IngressBackend, IngressLoadBalancerStatus, IngressSpec, IngressTLS } from './ingress-shapes.ts'

/** Rules on what is asked for. */
export function* validateIngressSpec(spec: IngressSpec, at: Ref<IngressSpec>): Iterable<FieldError> {
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

/** Rules on where the Ingress can be reached; addresses that are stored already may stay as they are. */
export function* validateLoadBalancer(
  { ingress = [] }: IngressLoadBalancerStatus,
  at: Ref<IngressLoadBalancerStatus>,
  old: IngressLoadBalancerStatus = {},
): Iterable<FieldError> {
  const stored = new Set((old.ingress ?? []).flatMap(({ ip }) => ip ?? []))
  for (const [i, { ip, hostname }] of ingress.entries()) {
    const here = at.ingress[i]!
    if (ip) yield* invalidEach(here.ip, isValidIPForLegacyField(ip, stored))
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
