/**
 * The Pod Security Standards: what the levels `baseline` and `restricted` forbid of a pod, version by version.
 *
 * A check has one rule for each Kubernetes version that changed it; a policy pinned to v1.24 is held to the rules of that
 * version. `restricted` is `baseline` and its own checks, some of which stand in for a check of `baseline`.
 */
import type { PodSpec } from '../../../kinds/rules/pod/spec.ts'
import { goQuote } from '../../../lib/go-text.ts'

export type Level = 'privileged' | 'baseline' | 'restricted'
/** A version is the minor number of Kubernetes 1.x, or the latest. */
export type LevelVersion = { readonly level: Level; readonly version: number | 'latest' }

export type Pod = { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } | undefined; readonly spec: PodSpec }
export type Violation = { readonly reason: string; readonly detail: string }

/** The violations of a pod, in the order in which Kubernetes lists them. */
export function violations({ level, version }: LevelVersion, pod: Pod): Violation[] {
  if (level === 'privileged') return []
  const minor = version === 'latest' ? NEWEST : Math.min(version, NEWEST)
  return rulesOf(level, minor).flatMap(rule => rule(pod) ?? [])
}

export const reasonsOf = (found: readonly Violation[]): string => found.map(({ reason }) => reason).join(', ')
export const detailsOf = (found: readonly Violation[]): string =>
  found.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ')

type Rule = (pod: Pod) => Violation | undefined
type Check = {
  readonly level: 'baseline' | 'restricted'
  /** The rule since each minor version, oldest first. */
  readonly since: readonly (readonly [minor: number, rule: Rule])[]
  /** The baseline check that this one replaces from its first version on. */
  readonly replaces?: string
}

type Container = NonNullable<PodSpec['containers']>[number]
type SecurityContext = NonNullable<Container['securityContext']>
type PodSecurityContext = NonNullable<PodSpec['securityContext']>

const containersOf = ({ spec }: Pod): readonly Container[] => [
  ...(spec.initContainers ?? []),
  ...(spec.containers ?? []),
  ...((spec.ephemeralContainers ?? []) as readonly Container[]),
]
const sorted = (values: Iterable<string>): string[] => [...new Set(values)].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
const quoted = (values: readonly string[]): string => values.map(value => `"${value}"`).join(', ')
const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many)
const named = (noun: string, names: readonly string[]): string => `${plural(names.length, noun)} ${quoted(names)}`
const namesOf = (containers: readonly Container[]): string[] => containers.map(({ name }) => name ?? '')

/** Containers for which the predicate holds, by name. */
const containersWith = (pod: Pod, test: (container: Container) => boolean): string[] => namesOf(containersOf(pod).filter(test))

/** The part that sets a wrong value: the pod itself, some of its containers, or both. */
const settersOf = (byPod: boolean, containers: readonly string[]): string[] => [
  ...(byPod ? ['pod'] : []),
  ...(containers.length > 0 ? [named('container', containers)] : []),
]

/** A rule about something that the pod and each container can set, in which a wrong value is named. */
function wrongValues<V>(
  pod: Pod,
  read: (context: SecurityContext | PodSecurityContext) => V | undefined,
  wrong: (value: V) => boolean,
): { readonly setters: readonly string[]; readonly values: readonly V[] } {
  const isWrong = (value: V | undefined): value is V => value !== undefined && wrong(value)
  const values: V[] = []
  const ofPod = pod.spec.securityContext && read(pod.spec.securityContext)
  if (isWrong(ofPod)) values.push(ofPod)
  const containers: string[] = []
  for (const { name = '', securityContext } of containersOf(pod)) {
    const value = securityContext && read(securityContext)
    if (!isWrong(value)) continue
    containers.push(name)
    values.push(value)
  }
  return { setters: settersOf(isWrong(ofPod), containers), values }
}

const unlessWindows =
  (rule: Rule): Rule =>
  pod =>
    pod.spec.os?.name === 'windows' ? undefined : rule(pod)

/** Pods in a user namespace may do more: their root is not that of the node. */
const unlessUserNamespace =
  (rule: Rule): Rule =>
  pod =>
    pod.spec.hostUsers === false ? undefined : rule(pod)

const allowPrivilegeEscalation: Rule = pod => {
  const bad = containersWith(pod, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false)
  if (bad.length === 0) return undefined
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${named('container', bad)} must set securityContext.allowPrivilegeEscalation=false`,
  }
}

const APP_ARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/'
const isAllowedAppArmorAnnotation = (value: string) => value === '' || value === 'runtime/default' || value.startsWith('localhost/')

const appArmorProfile: Rule = pod => {
  const { setters, values } = wrongValues(
    pod,
    context => context.appArmorProfile && (context.appArmorProfile.type ?? ''),
    type => type !== 'RuntimeDefault' && type !== 'Localhost',
  )
  const annotations = Object.entries(pod.metadata?.annotations ?? {})
    .filter(([key, value]) => key.startsWith(APP_ARMOR_ANNOTATION) && !isAllowedAppArmorAnnotation(value))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
  const all = [...sorted(values), ...sorted(annotations)]
  const who = [...setters, ...(annotations.length > 0 ? [plural(annotations.length, 'annotation')] : [])]
  if (who.length === 0) return undefined
  return {
    reason: plural(all.length, 'forbidden AppArmor profile'),
    detail: `${who.join(' and ')} must not set AppArmor profile type to ${quoted(all)}`,
  }
}

const DEFAULT_CAPABILITIES = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]

const addedBeyond = ({ securityContext }: Container, allowed: readonly string[]): string[] =>
  (securityContext?.capabilities?.add ?? []).filter(capability => !allowed.includes(capability))

const capabilitiesBaseline: Rule = pod => {
  const bad = containersOf(pod).filter(container => addedBeyond(container, DEFAULT_CAPABILITIES).length > 0)
  if (bad.length === 0) return undefined
  const added = sorted(bad.flatMap(container => addedBeyond(container, DEFAULT_CAPABILITIES)))
  return {
    reason: 'non-default capabilities',
    detail: `${named('container', namesOf(bad))} must not include ${quoted(added)} in securityContext.capabilities.add`,
  }
}

const capabilitiesRestricted: Rule = pod => {
  const keeping = containersWith(pod, ({ securityContext }) => !securityContext?.capabilities?.drop?.includes('ALL'))
  const adding = containersOf(pod).filter(container => addedBeyond(container, ['NET_BIND_SERVICE']).length > 0)
  const added = sorted(adding.flatMap(container => addedBeyond(container, ['NET_BIND_SERVICE'])))
  const details = [
    ...(keeping.length > 0 ? [`${named('container', keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adding.length > 0
      ? [`${named('container', namesOf(adding))} must not include ${quoted(added)} in securityContext.capabilities.add`]
      : []),
  ]
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') }
}

const hostNamespaces: Rule = ({ spec }) => {
  const used = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter(field => spec[field]).map(field => `${field}=true`)
  return used.length === 0 ? undefined : { reason: 'host namespaces', detail: used.join(', ') }
}

const hostPathVolumes: Rule = ({ spec }) => {
  const bad = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name ?? '')
  return bad.length === 0 ? undefined : { reason: 'hostPath volumes', detail: named('volume', bad) }
}

const hostPorts: Rule = pod => {
  const portsOf = ({ ports = [] }: Container) => ports.flatMap(({ hostPort }) => (hostPort ? [String(hostPort)] : []))
  const bad = containersOf(pod).filter(container => portsOf(container).length > 0)
  if (bad.length === 0) return undefined
  const ports = sorted(bad.flatMap(portsOf))
  return {
    reason: 'hostPort',
    detail: `${named('container', namesOf(bad))} ${plural(bad.length, 'uses', 'use')} ${plural(ports.length, 'hostPort')} ${ports.join(', ')}`,
  }
}

type Handler = { readonly httpGet?: { readonly host?: string }; readonly tcpSocket?: { readonly host?: string } } | undefined

const hostProbesAndLifecycle: Rule = pod => {
  const hostsOf = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Container) =>
    ([livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop] as readonly Handler[]).flatMap(handler =>
      [handler?.httpGet?.host, handler?.tcpSocket?.host].filter(host => host !== undefined && host !== ''),
    ) as string[]
  const bad = containersOf(pod).filter(container => hostsOf(container).length > 0)
  if (bad.length === 0) return undefined
  const hosts = sorted(bad.flatMap(hostsOf))
  const names = sorted(namesOf(bad))
  return {
    reason: 'probe or lifecycle host',
    detail: `${named('container', names)} ${plural(names.length, 'uses', 'use')} ${plural(hosts.length, 'probe or lifecycle host')} ${quoted(hosts)}`,
  }
}

const privileged: Rule = pod => {
  const bad = containersWith(pod, ({ securityContext }) => securityContext?.privileged === true)
  if (bad.length === 0) return undefined
  return { reason: 'privileged', detail: `${named('container', bad)} must not set securityContext.privileged=true` }
}

const procMount: Rule = pod => {
  const mountOf = ({ securityContext }: Container) => securityContext?.procMount
  const bad = containersOf(pod).filter(container => (mountOf(container) ?? 'Default') !== 'Default')
  if (bad.length === 0) return undefined
  const mounts = sorted(bad.map(container => mountOf(container)!))
  return { reason: 'procMount', detail: `${named('container', namesOf(bad))} must not set securityContext.procMount to ${quoted(mounts)}` }
}

const ALLOWED_VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

const restrictedVolumes: Rule = ({ spec }) => {
  const sourceOf = ({ name: _, ...sources }: NonNullable<PodSpec['volumes']>[number]) =>
    Object.keys(sources).find(key => sources[key as keyof typeof sources] !== undefined) ?? 'unknown'
  const bad = (spec.volumes ?? []).filter(volume => !ALLOWED_VOLUMES.includes(sourceOf(volume)))
  if (bad.length === 0) return undefined
  const types = sorted(bad.map(sourceOf))
  const names = bad.map(({ name }) => name ?? '')
  return {
    reason: 'restricted volume types',
    detail: `${named('volume', names)} ${plural(bad.length, 'uses', 'use')} ${plural(types.length, 'restricted volume type')} ${quoted(types)}`,
  }
}

const runAsNonRoot: Rule = pod => {
  const { setters } = wrongValues(
    pod,
    context => context.runAsNonRoot,
    value => !value,
  )
  const reason = 'runAsNonRoot != true'
  if (setters.length > 0) return { reason, detail: `${setters.join(' and ')} must not set securityContext.runAsNonRoot=false` }
  if (pod.spec.securityContext?.runAsNonRoot) return undefined
  const silent = containersWith(pod, ({ securityContext }) => securityContext?.runAsNonRoot === undefined)
  if (silent.length === 0) return undefined
  return { reason, detail: `pod or ${named('container', silent)} must set securityContext.runAsNonRoot=true` }
}

const runAsUser: Rule = pod => {
  const { setters } = wrongValues(
    pod,
    context => context.runAsUser,
    user => Number(user) === 0,
  )
  return setters.length === 0 ? undefined : { reason: 'runAsUser=0', detail: `${setters.join(' and ')} must not set runAsUser=0` }
}

const SE_LINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t']

const seLinuxOptions =
  (types: readonly string[]): Rule =>
  pod => {
    const { setters, values } = wrongValues(
      pod,
      context => context.seLinuxOptions,
      ({ type = '', user, role }) => !types.includes(type) || Boolean(user) || Boolean(role),
    )
    if (setters.length === 0) return undefined
    const bad = sorted(values.map(({ type = '' }) => type).filter(type => !types.includes(type)))
    const wrong = [
      ...(bad.length > 0 ? [`${plural(bad.length, 'type')} ${quoted(bad)}`] : []),
      ...(values.some(({ user }) => user) ? ['user may not be set'] : []),
      ...(values.some(({ role }) => role) ? ['role may not be set'] : []),
    ]
    return {
      reason: 'seLinuxOptions',
      detail: `${setters.join(' and ')} set forbidden securityContext.seLinuxOptions: ${wrong.join('; ')}`,
    }
  }

const SECCOMP_POD_ANNOTATION = 'seccomp.security.alpha.kubernetes.io/pod'
const SECCOMP_CONTAINER_ANNOTATION = 'container.seccomp.security.alpha.kubernetes.io/'

const seccompAnnotations: Rule = pod => {
  const annotations = pod.metadata?.annotations ?? {}
  const keys = [SECCOMP_POD_ANNOTATION, ...namesOf(containersOf(pod)).map(name => SECCOMP_CONTAINER_ANNOTATION + name)]
  const isAllowed = (value: string) => value === 'runtime/default' || value === 'docker/default' || value.startsWith('localhost/')
  const bad = sorted(
    keys.filter(key => Object.hasOwn(annotations, key) && !isAllowed(annotations[key]!)).map(key => `${key}=${goQuote(annotations[key]!)}`),
  )
  if (bad.length === 0) return undefined
  return { reason: 'seccompProfile', detail: `forbidden ${plural(bad.length, 'annotation')} ${bad.join(', ')}` }
}

const isAllowedSeccomp = (type: string) => type === 'Localhost' || type === 'RuntimeDefault'

const seccompProfile: Rule = pod => {
  const { setters, values } = wrongValues(
    pod,
    context => context.seccompProfile && (context.seccompProfile.type ?? ''),
    type => !isAllowedSeccomp(type),
  )
  if (setters.length === 0) return undefined
  return {
    reason: 'seccompProfile',
    detail: `${setters.join(' and ')} must not set securityContext.seccompProfile.type to ${quoted(sorted(values))}`,
  }
}

const seccompProfileRequired: Rule = pod => {
  const wrong = seccompProfile(pod)
  if (wrong || pod.spec.securityContext?.seccompProfile) return wrong
  const silent = containersWith(pod, ({ securityContext }) => securityContext?.seccompProfile === undefined)
  if (silent.length === 0) return undefined
  return {
    reason: 'seccompProfile',
    detail: `pod or ${named('container', silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  }
}

const SYSCTLS: readonly (readonly [since: number, names: readonly string[]])[] = [
  [
    0,
    [
      'kernel.shm_rmid_forced',
      'net.ipv4.ip_local_port_range',
      'net.ipv4.tcp_syncookies',
      'net.ipv4.ping_group_range',
      'net.ipv4.ip_unprivileged_port_start',
    ],
  ],
  [27, ['net.ipv4.ip_local_reserved_ports']],
  [29, ['net.ipv4.tcp_keepalive_time', 'net.ipv4.tcp_fin_timeout', 'net.ipv4.tcp_keepalive_intvl', 'net.ipv4.tcp_keepalive_probes']],
  [32, ['net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem']],
  [37, ['net.ipv4.tcp_slow_start_after_idle', 'net.ipv4.tcp_notsent_lowat']],
]

function sysctls(minor: number): Rule {
  const allowed = new Set(SYSCTLS.filter(([since]) => since <= minor).flatMap(([, names]) => names))
  return ({ spec }) => {
    const bad = (spec.securityContext?.sysctls ?? []).map(({ name }) => name ?? '').filter(name => !allowed.has(name))
    return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') }
  }
}

const windowsHostProcess: Rule = pod => {
  const { setters } = wrongValues(
    pod,
    context => context.windowsOptions?.hostProcess,
    value => value,
  )
  if (setters.length === 0) return undefined
  return { reason: 'hostProcess', detail: `${setters.join(' and ')} must not set securityContext.windowsOptions.hostProcess=true` }
}

const CHECKS: Readonly<Record<string, Check>> = {
  appArmorProfile: { level: 'baseline', since: [[0, appArmorProfile]] },
  capabilities_baseline: { level: 'baseline', since: [[0, capabilitiesBaseline]] },
  hostNamespaces: { level: 'baseline', since: [[0, hostNamespaces]] },
  hostPathVolumes: { level: 'baseline', since: [[0, hostPathVolumes]] },
  hostPorts: { level: 'baseline', since: [[0, hostPorts]] },
  hostProbesAndHostLifecycle: { level: 'baseline', since: [[34, hostProbesAndLifecycle]] },
  privileged: { level: 'baseline', since: [[0, privileged]] },
  procMount: {
    level: 'baseline',
    since: [
      [0, procMount],
      [35, unlessUserNamespace(procMount)],
    ],
  },
  seLinuxOptions: {
    level: 'baseline',
    since: [
      [0, seLinuxOptions(SE_LINUX_TYPES)],
      [31, seLinuxOptions([...SE_LINUX_TYPES, 'container_engine_t'])],
    ],
  },
  seccompProfile_baseline: {
    level: 'baseline',
    since: [
      [0, seccompAnnotations],
      [19, seccompProfile],
    ],
  },
  sysctls: { level: 'baseline', since: SYSCTLS.map(([since]) => [since, sysctls(since)] as const) },
  windowsHostProcess: { level: 'baseline', since: [[0, windowsHostProcess]] },
  allowPrivilegeEscalation: {
    level: 'restricted',
    since: [
      [8, allowPrivilegeEscalation],
      [25, unlessWindows(allowPrivilegeEscalation)],
    ],
  },
  capabilities_restricted: {
    level: 'restricted',
    replaces: 'capabilities_baseline',
    since: [
      [22, capabilitiesRestricted],
      [25, unlessWindows(capabilitiesRestricted)],
    ],
  },
  procMount_restricted: { level: 'restricted', replaces: 'procMount', since: [[35, procMount]] },
  restrictedVolumes: { level: 'restricted', replaces: 'hostPathVolumes', since: [[0, restrictedVolumes]] },
  runAsNonRoot: {
    level: 'restricted',
    since: [
      [0, runAsNonRoot],
      [35, unlessUserNamespace(runAsNonRoot)],
    ],
  },
  runAsUser: {
    level: 'restricted',
    since: [
      [23, runAsUser],
      [35, unlessUserNamespace(runAsUser)],
    ],
  },
  seccompProfile_restricted: {
    level: 'restricted',
    replaces: 'seccompProfile_baseline',
    since: [
      [19, seccompProfileRequired],
      [25, unlessWindows(seccompProfileRequired)],
    ],
  },
}

/** The version after which no check has changed. */
const NEWEST = Math.max(...Object.values(CHECKS).flatMap(({ since }) => since.map(([minor]) => minor)))

const known = new Map<string, readonly Rule[]>()

/** The rules of a level in a version: checks of baseline first, each group by name. */
function rulesOf(level: 'baseline' | 'restricted', minor: number): readonly Rule[] {
  const key = `${level} ${minor}`
  let rules = known.get(key)
  if (!rules) known.set(key, (rules = collectRules(level, minor)))
  return rules
}

function collectRules(level: 'baseline' | 'restricted', minor: number): readonly Rule[] {
  const applies = ({ since }: Check) => since[0]![0] <= minor
  const checks = Object.entries(CHECKS).filter(([, check]) => applies(check) && (level === 'restricted' || check.level === 'baseline'))
  const replaced = new Set(checks.map(([, { replaces }]) => replaces))
  const byName = (of: Check['level']) =>
    checks.filter(([name, check]) => check.level === of && !replaced.has(name)).sort(([a], [b]) => (a < b ? -1 : 1))
  return [...byName('baseline'), ...byName('restricted')].map(([, { since }]) => since.findLast(([from]) => from <= minor)![1])
}
