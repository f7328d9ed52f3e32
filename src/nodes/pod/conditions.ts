/** The conditions of a pod that a kubelet sets, with its reasons and messages. */
import { type Container, isSidecar } from '../../kinds/rules/pod/containers/container.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import type { ContainerStatus } from '../../kinds/rules/pod/status/container-status.ts'
import type { PodCondition } from '../../kinds/rules/pod/status/status.ts'
import { goQuote } from '../../lib/go-text.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { conditionOf } from '../../schema/conditions.ts'
import { isTerminalPhase, type Phase } from './phase.ts'
import { type Gate, mayRestartAll } from './restart-policy.ts'

export type ResizePending = { readonly reason: 'Deferred' | 'Infeasible'; readonly message: string }

export type ConditionInput = {
  readonly spec: PodSpec
  readonly phase: Phase
  readonly statusOf: (container: Container) => ContainerStatus | undefined
  /** Whether the pod has its network, so that containers can be started. */
  readonly hasSandbox: boolean
  /** Whether it had its network before this step. */
  readonly hadSandbox: boolean
  /** Whether the containers of the pod have been started before. */
  readonly isInitialized: boolean
  readonly resizePending: ResizePending | undefined
  readonly generation: number | undefined
  readonly gate: Gate
  /** The time as the API writes it. */
  readonly now: string
}

type State = { readonly status: 'True' | 'False'; readonly reason?: string; readonly message?: string }
const TRUE: State = { status: 'True' }

const OWNED = [
  'PodResizePending',
  'PodResizeInProgress',
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'AllContainersRestarting',
]

/** All conditions of the pod: those of other components unchanged, those of the kubelet derived from the status. */
export function podConditions(old: readonly PodCondition[], input: ConditionInput): PodCondition[] {
  const { spec, phase, hasSandbox, hadSandbox, resizePending, generation, gate, now } = input
  const others = old.filter(({ type }) => !OWNED.includes(type))
  const containersReady = containersReadyState(input)
  const restartingAll = gate('RestartAllContainersOnContainerExits') && mayRestartAll(spec)
  const own: [type: string, state: State][] = [
    ...(resizePending && !isTerminalPhase(phase) ? [['PodResizePending', { status: 'True', ...resizePending }] as [string, State]] : []),
    [
      'PodReadyToStartContainers',
      hasSandbox ? TRUE : { ...NO_SANDBOX, message: hadSandbox ? 'pod sandbox is not ready' : 'no pod sandbox exists' },
    ],
    ['Initialized', initializedState(input)],
    ['Ready', containersReady.status === 'True' ? readinessGatesState(spec, old) : containersReady],
    ['ContainersReady', containersReady],
    ['PodScheduled', TRUE],
    ...(restartingAll ? [['AllContainersRestarting', { status: 'False', ...endReason(phase) }] as [string, State]] : []),
  ]
  const next = [
    ...others,
    ...own.map(([type, { status, reason, message }]): PodCondition => {
      const before = old.find(condition => condition.type === type)
      const isNew = before?.status !== status
      return {
        type,
        ...(generation !== undefined && { observedGeneration: generation }),
        status,
        lastProbeTime: null as unknown as string,
        lastTransitionTime: isNew ? now : before.lastTransitionTime,
        ...(reason && { reason }),
        ...(message && { message }),
      }
    }),
  ]
  return isSame(old, next) ? [...old] : next
}

/** Conditions of other components follow those of the kubelet; their order alone is no reason to write. */
const isSame = (old: readonly PodCondition[], next: readonly PodCondition[]): boolean =>
  old.length === next.length && next.every(condition => old.some(before => deepEqual(before, condition)))

const NO_SANDBOX: State = { status: 'False', reason: 'PodSandboxNotReady' }

const endReason = (phase: Phase) => (phase === 'Succeeded' ? { reason: 'PodCompleted' } : phase === 'Failed' ? { reason: 'PodFailed' } : {})

function containersReadyState({ spec, phase, statusOf }: ConditionInput): State {
  if (isTerminalPhase(phase)) return { status: 'False', ...endReason(phase) }
  const lasting = [...(spec.initContainers ?? []).filter(isSidecar), ...(spec.containers ?? [])]
  const unready = lasting.filter(container => !statusOf(container)?.ready).map(({ name }) => name)
  if (unready.length === 0) return TRUE
  return { status: 'False', reason: 'ContainersNotReady', message: `containers with unready status: [${unready.join(' ')}]` }
}

function readinessGatesState({ readinessGates = [] }: PodSpec, conditions: readonly PodCondition[]): State {
  const unmet = readinessGates.flatMap(({ conditionType = '' }) => {
    const found = conditionOf(conditions, conditionType)
    const gate = `pod readiness gate ${goQuote(conditionType)}`
    if (!found) return [`corresponding condition of ${gate} does not exist.`]
    return found.status === 'True' ? [] : [`the status of ${gate} is not "True", but ${found.status}`]
  })
  return unmet.length === 0 ? TRUE : { status: 'False', reason: 'ReadinessGatesNotReady', message: unmet.join(', ') }
}

function initializedState({ spec, phase, statusOf, isInitialized }: ConditionInput): State {
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' }
  if (isInitialized) return TRUE
  const incomplete = (spec.initContainers ?? []).filter(container => {
    const status = statusOf(container)
    return !(isSidecar(container) ? status?.started : status?.ready)
  })
  if (incomplete.length === 0) return TRUE
  const names = incomplete.map(({ name }) => name).join(' ')
  return { status: 'False', reason: 'ContainersNotInitialized', message: `containers with incomplete status: [${names}]` }
}
