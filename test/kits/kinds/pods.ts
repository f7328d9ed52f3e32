/** Pods for tests of their rules: conformed and defaulted as in the server, then checked. */

import type { Pod } from '../../../src/kinds/core/pod/pod.ts'
import { PodSpec } from '../../../src/kinds/rules/pod/spec.ts'
import { PodStatus } from '../../../src/kinds/rules/pod/status/status.ts'
import { ObjectMeta } from '../../../src/schema/object-meta.ts'
import { type FieldError, type Ref, refTo } from '../../../src/schema/refs.ts'
import type { RequestContext } from '../../../src/schema/request-context.ts'
import { message } from '../../../src/schema/types.ts'
import { contextWith } from './kinds.ts'
import { conformed, podSpec, texts } from './pod-shapes.ts'

const PodMessage = message('Pod', { metadata: [1, ObjectMeta.orEmpty()], spec: [2, PodSpec.orEmpty()], status: [3, PodStatus.orEmpty()] })
/** The features of pods that are on by default. */
export const GATES = [
  'PodLevelResources',
  'PodLevelResourcesFixDefaulting',
  'PodLevelResourcesFixKubeletQOSClass',
  'InPlacePodLevelResourcesVerticalScaling',
  'ContainerRestartRules',
  'RestartAllContainersOnContainerExits',
  'EnvFiles',
  'SELinuxMount',
  'MatchLabelKeysInPodTopologySpread',
  'MatchLabelKeysInPodTopologySpreadSelectorMerge',
  'PodDeletionCost',
  'ClearingNominatedNodeNameAfterBinding',
]

/** The relevant part of a pod; the rest is that of a valid pod. */
export type Draft = { metadata?: object; spec?: object; status?: object }
type PodRule = (pod: Pod, at: Ref<Pod>, ctx: RequestContext & { readonly old?: Pod }) => Iterable<FieldError>
/** The pod of a draft. */
export const podOf = ({ metadata = {}, spec = {}, status = {} }: Draft): Pod =>
  conformed<Pod>(PodMessage, { metadata: { name: 'p', namespace: 'n', ...metadata }, spec: podSpec(spec), status })

/** The errors of a rule for a pod, and for its change when `old` is given; `more` are further feature gates. */
export const errors = (rule: PodRule, draft: Draft, { old, more = [] }: { old?: Draft; more?: string[] } = {}): string[] => {
  const pod = podOf(draft)
  const ctx = contextWith({ gates: [...GATES, ...more] })
  return texts(rule(pod, refTo(pod) as Ref<Pod>, old ? { ...ctx, old: podOf(old) } : ctx))
}

/** The metadata of a mirror pod. */
export const MIRROR = { annotations: { 'kubernetes.io/config.mirror': 'x' } }
