/** Whether and when a container restarts after its end. */
import { type Container, isSidecar } from '../../kinds/rules/pod/containers/container.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'

export type Gate = (name: string) => boolean

/** The consequence of an exit code, by the rules of the container, its policy and the policy of the pod. */
export type AfterExit = 'stay' | 'restart' | 'restart-all'

export function afterExit(container: Container, spec: PodSpec, { exitCode, gate }: { exitCode: number; gate: Gate }): AfterExit {
  if (container.restartPolicy && (gate('ContainerRestartRules') || isSidecar(container))) {
    const action = container.restartPolicyRules?.find(rule => matches(rule.exitCodes, exitCode))?.action
    if (action === 'Restart') return 'restart'
    if (action === 'RestartAllContainers' && gate('RestartAllContainersOnContainerExits')) return 'restart-all'
    return byPolicy(container.restartPolicy, exitCode)
  }
  return byPolicy(spec.restartPolicy ?? 'Always', exitCode)
}

/** Whether any exit code of any container restarts all of them. */
export const mayRestartAll = ({ initContainers, containers }: PodSpec): boolean =>
  [...(initContainers ?? []), ...(containers ?? [])].some(({ restartPolicyRules }) =>
    restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
  )

const byPolicy = (policy: string, exitCode: number): AfterExit =>
  policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0) ? 'restart' : 'stay'

function matches(codes: { operator?: string; values?: number[] } | undefined, exitCode: number): boolean {
  const isListed = codes?.values?.includes(exitCode) ?? false
  return codes !== undefined && (codes.operator === 'NotIn' ? !isListed : isListed)
}

/** After a run of this length the back-off is reset. */
const LONG_RUN_MS = 600_000

/**
 * The delay between the end of a container and its restart: none at first, then 10 s, 20 s and so on up to
 * five minutes. It follows from the restart count in the status, so a restart of the server does not change it.
 */
export function restartDelayMs(restarts: number, ranMs: number, { gate, firstMs }: { gate: Gate; firstMs: number | undefined }): number {
  if (restarts === 0 || ranMs > LONG_RUN_MS) return 0
  const [first, last] = gate('ReduceDefaultCrashLoopBackOffDecay') ? [1_000, 60_000] : [10_000, 300_000]
  return Math.min((firstMs ?? first) * 2 ** Math.min(restarts - 1, 20), last)
}
