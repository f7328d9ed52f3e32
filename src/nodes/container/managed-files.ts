/** Files outside of volumes that a kubelet, a container runtime or the kernel provides: host names and the limits of resources. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { integerValue, milliValue, parseQuantity } from '../../lib/quantity.ts'
import type { File } from './container-inputs.ts'
import { namesOf } from './identity.ts'

/** Undefined for all other paths. */
export function managedFile(path: string, pod: Pod, container: Container): File | undefined {
  if (path === '/etc/hosts') return fileOf(hostsFile(pod))
  if (path === '/etc/hostname') return fileOf(`${namesOf(pod).hostName}\n`)
  if (!path.startsWith(`${CGROUP_PATH}/`)) return undefined
  const content = controlGroup(pod, container).get(path.slice(CGROUP_PATH.length + 1))
  return content === undefined ? undefined : fileOf(`${content}\n`)
}

/** A file of the node itself, as a hostPath volume shows it; undefined for those that are unknown. */
export const nodeFile = (path: string, pod: Pod): File | undefined => (path === '/etc/hosts' ? fileOf(hostsOfNode(pod)) : undefined)

const fileOf = (content: string): File => ({ content, mode: 0o644, group: 0 })

const OWN_HOSTS = '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n'

/** Pods in the network of their node get the hosts file of the node. */
function hostsFile(pod: Pod): string {
  const { hostName, fullName } = namesOf(pod)
  const own = [...new Set([fullName, hostName])].join('\t')
  const aliases = (pod.spec.hostAliases ?? []).map(({ ip, hostnames }) => `${ip}\t${(hostnames ?? []).join('\t')}\n`)
  const hosts = pod.spec.hostNetwork
    ? ['# Kubernetes-managed hosts file (host network).\n', hostsOfNode(pod)]
    : [
        `# Kubernetes-managed hosts file.\n${OWN_HOSTS}`,
        'fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n',
        ...(pod.status?.podIPs ?? []).map(({ ip }) => `${ip}\t${own}\n`),
      ]
  return [...hosts, ...(aliases.length > 0 ? ['\n# Entries added by HostAliases.\n', ...aliases] : [])].join('')
}

const hostsOfNode = ({ spec, status }: Pod): string =>
  [OWN_HOSTS, ...(status?.hostIPs ?? []).map(({ ip }) => `${ip}\t${spec.nodeName}\n`)].join('')

const CGROUP_PATH = '/sys/fs/cgroup'

/** The line of `mount` about the control group of a container. */
export const CGROUP_MOUNT = `cgroup on ${CGROUP_PATH} type cgroup2 (ro,nosuid,nodev,noexec,relatime)\n`

type Amounts = Readonly<Record<string, string>> | null | undefined
type Resources = { readonly limits?: Amounts; readonly requests?: Amounts } | null | undefined

/** The control group (version 2) of a container, with the resources that are in force for it. */
function controlGroup({ spec, status }: Pod, container: Container): ReadonlyMap<string, string> {
  const { initContainerStatuses, containerStatuses } = status ?? {}
  const known = [...(initContainerStatuses ?? []), ...(containerStatuses ?? [])].find(({ name }) => name === container.name)
  const resources = (known?.resources ?? container.resources) as Resources
  const limit = (name: string) => resources?.limits?.[name] ?? (spec.resources as Resources)?.limits?.[name]
  const cpu = milliOf(limit('cpu'))
  const memory = limit('memory')
  // Without a request, the limit counts.
  const shares = (milliOf(resources?.requests?.['cpu'] ?? resources?.limits?.['cpu']) * SHARES_PER_CPU) / 1000n
  return new Map([
    ['cpu.max', `${cpu === 0n ? 'max' : greater((cpu * CPU_PERIOD) / 1000n, MIN_QUOTA)} ${CPU_PERIOD}`],
    ['cpu.weight', String(weightOf(shares < MIN_SHARES ? MIN_SHARES : shares > MAX_SHARES ? MAX_SHARES : shares))],
    ['memory.max', memory === undefined ? 'max' : String((integerValue(parseQuantity(memory)) / PAGE) * PAGE)],
  ])
}

const milliOf = (amount: string | undefined): bigint => (amount === undefined ? 0n : milliValue(parseQuantity(amount)))
const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** Times in microseconds. */
const CPU_PERIOD = 100_000n
const MIN_QUOTA = 1000n
const SHARES_PER_CPU = 1024n
const [MIN_SHARES, MAX_SHARES] = [2n, 262_144n]
const PAGE = 4096n

/** Shares are those of version 1 of control groups; weights are between 1 and 10,000. */
const weightOf = (shares: bigint): bigint => 1n + ((shares - MIN_SHARES) * 9999n) / (MAX_SHARES - MIN_SHARES)
