/** Sysctls that a pod may set on a kubelet with default settings. */
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { goQuote } from '../../lib/go-text.ts'

/** Safe sysctls, which have no effect on other pods. */
const SAFE = new Set([
  'kernel.shm_rmid_forced',
  ...[
    'ip_local_port_range',
    'ip_local_reserved_ports',
    'ip_unprivileged_port_start',
    'ping_group_range',
    'tcp_fin_timeout',
    'tcp_keepalive_intvl',
    'tcp_keepalive_probes',
    'tcp_keepalive_time',
    'tcp_notsent_lowat',
    'tcp_rmem',
    'tcp_slow_start_after_idle',
    'tcp_syncookies',
    'tcp_wmem',
  ].map(name => `net.ipv4.${name}`),
])

/** Why a pod may not set a sysctl, in the words of a kubelet. */
export function sysctlProblem({ securityContext, hostNetwork, hostIPC }: PodSpec): string | undefined {
  for (const { name } of securityContext?.sysctls ?? []) {
    const sysctl = normalName(name)
    if (!SAFE.has(sysctl)) return `forbidden sysctl: ${goQuote(sysctl)} not allowlisted`
    const shared = sysctl.startsWith('net.') ? hostNetwork && 'Net' : hostIPC && 'IPC'
    if (shared) return `forbidden sysctl: ${goQuote(sysctl)} not allowed with host ${shared} enabled`
  }
  return undefined
}

/** The name with dots; slashes are allowed, too: `kernel/shm_rmid_forced`. */
export function normalName(name: string): string {
  if (!/^[^./]*\//.test(name)) return name
  return name.replace(/[./]/g, separator => (separator === '/' ? '.' : '/'))
}
