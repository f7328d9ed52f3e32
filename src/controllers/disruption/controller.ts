/** Maintains the status of PodDisruptionBudgets, and removes the conditions of disruptions that were not carried out. */
import { namedBy, queueKey } from '../../client/change.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { Budget } from '../../kinds/policy/disruption.ts'
import { PodDisruptionBudget } from '../../kinds/policy/poddisruptionbudget.ts'
import { labelTermsOf, matchesLabels } from '../../kinds/rules/meta.ts'
import { messageOf } from '../../lib/error-message.ts'
import { goLabelSelector } from '../../lib/go-text.ts'
import { StatusError } from '../../schema/status-error.ts'
import { defineController, watch } from '../controller.ts'
import { type Expected, expectedPods, failedStatus, reconcileBudget, staleTargetMs, withoutTarget } from './reconcile.ts'
import { scaleReader } from './scales.ts'

/** Keys of pods, beside those of budgets. */
const POD = 'pod:'

export const disruptionController = defineController({
  name: 'disruption-controller',
  identity: 'disruption-controller',
  component: 'controllermanager',
  workers: 5,
  create({ client, recorder }) {
    const [budgets, pods] = [client.of(PodDisruptionBudget), client.of(Pod)]
    const scaleOf = scaleReader(client)
    return {
      watches: [
        watch(PodDisruptionBudget),
        watch(Pod, ({ type, current, previous }) => {
          const { namespace, name } = current
          const matching = (labels: typeof current.labels) =>
            Array.from(budgets.list({ namespace })).filter(({ spec }) => matchesLabels(spec.selector, labels))
          const [first, ...others] = matching(current.labels)
          if (others.length > 0 && current.object)
            recorder.event(
              current.object,
              'Warning',
              'MultiplePodDisruptionBudgets',
              `Pod "${namespace}"/"${name}" matches multiple PodDisruptionBudgets.  Chose "${first!.metadata.name}" arbitrarily.`,
            )
          const before = previous && previous.labels !== current.labels ? matching(previous.labels) : []
          const keys = [...(first ? [first] : []), ...others, ...before].map(({ metadata }) => queueKey(metadata))
          const mayBeTarget = type !== 'deleted' && current.object && staleTargetMs(current.object, client.now) !== undefined
          return mayBeTarget ? [...keys, `${POD}${queueKey(current)}`] : keys
        }),
      ],
      async reconcile(key) {
        if (key.startsWith(POD)) return takeBack(key.slice(POD.length))
        const budget = budgets.get(namedBy(key))
        if (!budget) return
        try {
          const { namespace = '' } = budget.metadata
          const { selector } = budget.spec
          const terms = selector && labelTermsOf(selector)
          const selected = terms ? [...pods.list({ namespace, labels: terms })] : []
          if (selected.length === 0) recorder.event(budget, 'Normal', 'NoPods', 'No matching pods found')
          const expected = expectedFor(budget, selected)
          if (expected.unmanaged.length > 0)
            recorder.event(budget, 'Warning', 'UnmanagedPods', unmanagedText(goLabelSelector(selector ?? {})))
          const { status, notDeleted, againMs } = reconcileBudget(budget, selected, expected, client.now)
          for (const pod of notDeleted)
            recorder.event(pod, 'Warning', 'NotDeleted', `Pod was expected by PDB ${namespace}/${namespace} to be deleted but it wasn't`)
          if (status) await budgets.updateStatus({ ...budget, status })
          return againMs
        } catch (error) {
          if (error instanceof StatusError && error.reason === 'Conflict') throw error
          const status = failedStatus(budget, messageOf(error), client.now)
          if (status) await budgets.updateStatus({ ...budget, status })
          return undefined
        }
      },
    }

    function expectedFor(budget: Budget, selected: readonly Pod[]): Expected {
      try {
        return expectedPods(budget, selected, scaleOf)
      } catch (error) {
        const message = `Failed to calculate the number of expected pods: ${messageOf(error)}`
        recorder.event(budget, 'Warning', 'CalculateExpectedPodCountFailed', message)
        throw error
      }
    }

    async function takeBack(key: string): Promise<number | undefined> {
      const pod = pods.get(namedBy(key))
      const left = pod && staleTargetMs(pod, client.now)
      if (left === undefined) return undefined
      if (left > 0) return left
      await pods.updateStatus({ ...pod!, status: withoutTarget(pod!, client.now) })
      return undefined
    }
  },
})

const unmanagedText = (selector: string) =>
  `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`
