/** Rules on what happens when containers end, or when their resources change. */
import { duplicate, type FieldError, invalid, type Ref, required, tooMany, unsupported, withValue } from '../../../../schema/refs.ts'
import type { PodOptions } from '../options.ts'
import type { ContainerResizePolicy } from '../resources/resources.ts'
import type { Container, ContainerRestartRule } from './container.ts'

const MAX_RULES = 20
const MAX_EXIT_CODES = 255

/** The restart policy of one container, and its exceptions. */
export function* validateContainerRestartPolicy(container: Container, at: Ref<Container>, options: PodOptions): Iterable<FieldError> {
  const { restartPolicy, restartPolicyRules: rules } = container
  const policies = ['Always', 'Never', 'OnFailure']
  if (restartPolicy === undefined) {
    if (!rules?.length) return
    yield required(at.restartPolicy, 'must specify restartPolicy when restart rules are used')
  } else if (!policies.includes(restartPolicy)) yield unsupported(at.restartPolicy, ...policies)
  if ((rules?.length ?? 0) > MAX_RULES) yield tooMany(at.restartPolicyRules, rules!.length, MAX_RULES)
  for (const [i, rule] of (rules ?? []).entries()) yield* validateRestartRule(rule, at.restartPolicyRules[i]!, options)
}

function* validateRestartRule(
  { action = '', exitCodes }: ContainerRestartRule,
  at: Ref<ContainerRestartRule>,
  options: PodOptions,
): Iterable<FieldError> {
  const actions = options.restartAllContainers ? ['Restart', 'RestartAllContainers'] : ['Restart']
  if (!actions.includes(action)) yield unsupported(at.action, ...actions)
  if (!exitCodes) return yield required(at.exitCodes, 'must be specified')
  if (exitCodes.operator !== 'In' && exitCodes.operator !== 'NotIn') yield unsupported(at.exitCodes.operator, 'In', 'NotIn')
  const count = exitCodes.values?.length ?? 0
  if (count > MAX_EXIT_CODES) yield tooMany(at.exitCodes.values, count, MAX_EXIT_CODES)
}

/** The same for init containers, whose exceptions need a policy too. */
export function* validateInitRestartPolicy(container: Container, at: Ref<Container>, options: PodOptions): Iterable<FieldError> {
  if (container.restartPolicy !== undefined) yield* validateContainerRestartPolicy(container, at, options)
  else if (container.restartPolicyRules?.length) yield required(at.restartPolicy, 'must specify restartPolicy when restart rules are used')
}

/** How a change of each resource is brought about; in pods that never restart, without a restart. */
export function* validateResizePolicies(
  policies: readonly ContainerResizePolicy[] | null | undefined,
  at: Ref<ContainerResizePolicy[]>,
  podRestartPolicy: string,
): Iterable<FieldError> {
  const resources = new Set<string>()
  for (const [i, { resourceName = '', restartPolicy = '' }] of (policies ?? []).entries()) {
    if (resources.has(resourceName)) yield duplicate(withValue(at[i]!, resourceName))
    resources.add(resourceName)
    yield* validateWord(resourceName, at, 'cpu', 'memory')
    yield* validateWord(restartPolicy, at, 'NotRequired', 'RestartContainer')
    if (podRestartPolicy === 'Never' && restartPolicy !== 'NotRequired')
      yield invalid(withValue(at, restartPolicy), "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
  }
}

/** The list as a whole is reported, whichever of its words is wrong. */
function* validateWord(word: string, at: Ref<any>, ...words: readonly string[]): Iterable<FieldError> {
  if (word === '') yield required(at)
  else if (!words.includes(word)) yield unsupported(withValue(at, word), ...words)
}
