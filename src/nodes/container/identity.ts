/** The identity of a container: its host names, and the user and groups of its programs. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { normalName } from '../pod/sysctls.ts'

export type Identity = {
  readonly hostName: string
  /** With the domain of the pod, if it has one. */
  readonly fullName: string
  readonly addresses: readonly string[]
  /** Undefined when the image decides. */
  readonly user: number | undefined
  readonly group: number
  /** The primary group first. */
  readonly groups: readonly number[]
  /** The sysctls of the pod. */
  readonly sysctls: ReadonlyMap<string, string>
}

export const CLUSTER_DOMAIN = 'cluster.local'
/** The longest host name on Linux. */
const MAX_HOST_NAME_LENGTH = 63

export function identityOf(pod: Pod, container: Container): Identity {
  const { spec, status } = pod
  const { runAsUser: podUser, runAsGroup: podGroup, fsGroup, supplementalGroups, sysctls } = spec.securityContext ?? {}
  const { runAsUser = podUser, runAsGroup = podGroup } = container.securityContext ?? {}
  const group = Number(runAsGroup ?? 0)
  const more = [...(fsGroup === undefined ? [] : [fsGroup]), ...(supplementalGroups ?? [])].map(Number)
  return {
    ...namesOf(pod),
    addresses: (status?.podIPs ?? []).flatMap(({ ip }) => ip ?? []),
    user: runAsUser === undefined ? undefined : Number(runAsUser),
    group,
    groups: [...new Set([group, ...more])],
    sysctls: new Map((sysctls ?? []).map(({ name, value }) => [normalName(name), value])),
  }
}

/** Why a container may not run as its user, in the words of a kubelet. The user of the image is unknown. */
export function userProblem({ metadata, spec }: Pod, { name, securityContext }: Container): string | undefined {
  const isBarred = (securityContext?.runAsNonRoot ?? spec.securityContext?.runAsNonRoot) === true
  const user = securityContext?.runAsUser ?? spec.securityContext?.runAsUser
  if (!isBarred || user === undefined || Number(user) !== 0) return undefined
  return `container's runAsUser breaks non-root policy (pod: "${metadata.name}_${metadata.namespace}(${metadata.uid})", container: ${name})`
}

/** The host names that a kubelet gives to a pod. */
export function namesOf({ metadata, spec }: Pod): Pick<Identity, 'hostName' | 'fullName'> {
  if (spec.hostNetwork) return { hostName: spec.nodeName ?? '', fullName: spec.nodeName ?? '' }
  const name = (spec.hostnameOverride ?? spec.hostname ?? metadata.name ?? '').slice(0, MAX_HOST_NAME_LENGTH).replace(/[-.]+$/, '')
  // A host name override has no domain.
  if (!spec.subdomain || spec.hostnameOverride !== undefined) return { hostName: name, fullName: name }
  const fullName = `${name}.${spec.subdomain}.${metadata.namespace}.svc.${CLUSTER_DOMAIN}`
  return { hostName: spec.setHostnameAsFQDN ? fullName : name, fullName }
}

/** The output of `id`; undefined when the image decides. */
export function idText({ user, group, groups }: Identity, options: readonly string[]): string | undefined {
  if (user === undefined || options.length > 1) return undefined
  const named = (id: number) => (id === 0 ? '0(root)' : String(id))
  switch (options[0]) {
    case undefined: {
      const more = groups.length > 1 || group === 0 ? ` groups=${groups.map(named).join(',')}` : ''
      return `uid=${named(user)} gid=${named(group)}${more}\n`
    }
    case '-u':
      return `${user}\n`
    case '-g':
      return `${group}\n`
    case '-G':
      return `${groups.join(' ')}\n`
    default:
      return undefined
  }
}

/** The output of `hostname`. */
export function hostNameText({ hostName, fullName, addresses }: Identity, options: readonly string[]): string | undefined {
  switch (options.join(' ')) {
    case '':
      return `${hostName}\n`
    case '-s':
      return `${hostName.split('.')[0]}\n`
    case '-f':
    case '--fqdn':
      return `${fullName}\n`
    case '-d':
      return `${fullName.split('.').slice(1).join('.')}\n`
    case '-i':
    case '-I':
      return `${addresses.join(' ')}\n`
    default:
      return undefined
  }
}
