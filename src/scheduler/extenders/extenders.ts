/** All extenders of the scheduler, asked in their order: those that may fail come last. */
import type { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { messageOf } from '../../lib/error-message.ts'
import type { Cluster } from '../cluster.ts'
import type { NodeInfo } from '../node-info.ts'
import type { Cycle } from '../plugin.ts'
import { MAX_SCORE, PluginError } from '../plugin.ts'
import type { Candidate, Preemption } from '../preemption.ts'
import { victimsAmong } from '../preemption.ts'
import { EXTENDER } from '../requeuer.ts'
import {
  beginSearch,
  bestOf,
  type Placement,
  passingAll,
  passingNominated,
  rejectionOf,
  type SchedulingParts,
  type Search,
  scoresOf,
} from '../schedule-pod.ts'
import { Extender, type ExtenderParts, type ExtenderSettings, type Victims } from './extender.ts'
import { answerTo, type Question, type Questioning } from './question.ts'

/** The highest score of an extender. */
const MAX_EXTENDER_SCORE = 10

export class Extenders {
  readonly #all: readonly Extender[]

  constructor(settings: readonly ExtenderSettings[], parts: ExtenderParts) {
    const sorted = [...settings.filter(each => !each.isIgnorable), ...settings.filter(each => each.isIgnorable)]
    this.#all = sorted.map(each => new Extender(each, parts))
  }

  /** Finds a node as `schedulePod` does, with the extenders' say. Throws PluginError when one fails that must not. */
  async schedulePod(cycle: Cycle, given: SchedulingParts): Promise<Placement> {
    const search = this.search(cycle, given)
    let step = search.next()
    while (!step.done) step = search.next(await Promise.all(step.value.map(answerTo)))
    return step.value
  }

  /** The same in steps: each asks questions that do not depend on each other, and goes on with their answers. */
  *search(cycle: Cycle, given: SchedulingParts): Questioning<Placement> {
    const parts = {
      ...given,
      isChosenByOthers: this.#all.some(({ settings: { verbs } }) => verbs.filter !== '' || verbs.prioritize !== ''),
    }
    const search = beginSearch(cycle, parts)
    if ('type' in search) return search
    let feasible: NodeInfo[] = []
    try {
      feasible = yield* this.#filter(passingNominated(search), search)
    } catch (error) {
      if (!(error instanceof PluginError)) throw error
    }
    let passed = 0
    if (feasible.length === 0) {
      const found = passingAll(search)
      passed = found.length
      feasible = yield* this.#filter(found, search)
    }
    if (feasible.length === 0) return rejectionOf(search, passed > 0 ? [EXTENDER] : [])
    const totals = scoresOf(feasible, search)
    if (feasible.length > 1) yield* this.#score(feasible, totals, cycle.pod)
    return { type: 'placed', node: bestOf(feasible, totals, parts).name }
  }

  /** The candidates of a preemption that the extenders agree to, and the best of these. */
  async preempt(
    cycle: Cycle,
    candidates: readonly Candidate[],
    parts: { readonly now: number; readonly read: ReadPod },
  ): Promise<Preemption> {
    try {
      const left = await this.#agreed(cycle, candidates, parts.read)
      if (left.length > 0) return victimsAmong(left, parts.now)
      return { type: 'none', keeps: true, message: 'preemption: no candidate node for preemption' }
    } catch (error) {
      return { type: 'none', keeps: true, message: `preemption: ${messageOf(error)}` }
    }
  }

  /** Whether an extender has bound the pod; throws when it could not. */
  async bind(pod: Pod, node: string): Promise<boolean> {
    for (const extender of this.#askedFor('bind', pod)) {
      try {
        await extender.bind(pod, node)
        return true
      } catch (error) {
        if (!extender.settings.isIgnorable) throw error
      }
    }
    return false
  }

  #askedFor(verb: keyof ExtenderSettings['verbs'], pod: Pod): Extender[] {
    return this.#all.filter(extender => extender.settings.verbs[verb] !== '' && extender.isInterestedIn(pod))
  }

  /** The nodes that pass every extender; the rejections of the others are noted. */
  *#filter(nodes: readonly NodeInfo[], { byNode, cycle: { pod } }: Search): Questioning<NodeInfo[]> {
    let left = [...nodes]
    for (const extender of this.#askedFor('filter', pod)) {
      if (left.length === 0) break
      const [answer] = yield [{ verb: 'filter', extender, pod, nodes: objectsOf(left) }]
      if (answer?.verb === 'filter') {
        const { failed, unresolvable } = answer.value
        for (const [name, reason] of failed) byNode.set(name, { plugin: EXTENDER, reasons: [reason], isUnresolvable: false })
        for (const [name, reason] of unresolvable) byNode.set(name, { plugin: EXTENDER, reasons: [reason], isUnresolvable: true })
        const passing = new Set(answer.value.passing)
        left = left.filter(({ name }) => passing.has(name))
      } else if (answer?.verb === 'none' && !extender.settings.isIgnorable) throw new PluginError(answer.message)
    }
    return left
  }

  /** Adds the scores of all extenders; those of one that fails are left out. */
  *#score(nodes: readonly NodeInfo[], totals: number[], pod: Pod): Questioning<void> {
    const asked = this.#askedFor('prioritize', pod)
    if (asked.length === 0) return
    const answers = yield asked.map((extender): Question => ({ verb: 'prioritize', extender, pod, nodes: objectsOf(nodes) }))
    for (const [i, { settings }] of asked.entries()) {
      const answer = answers[i]
      if (answer?.verb !== 'prioritize') continue
      const factor = settings.weight * (MAX_SCORE / MAX_EXTENDER_SCORE)
      for (const [node, { name }] of nodes.entries()) totals[node]! += (answer.value.get(name) ?? 0) * factor
    }
  }

  async #agreed({ pod, cluster }: Cycle, candidates: readonly Candidate[], read: ReadPod): Promise<readonly Candidate[]> {
    let left = candidates
    for (const extender of this.#askedFor('preempt', pod)) {
      if (left.length === 0) break
      const { isIgnorable, urlPrefix } = extender.settings
      try {
        const answers = await extender.preempt(
          pod,
          left.map(candidate => victimsOf(candidate, read)),
        )
        const agreed = answers.map(({ node, uids, violations }) => ({
          node,
          violations,
          victims: uids.map(uid => podOn(cluster, { node, uid, urlPrefix })),
        }))
        const empty = agreed.find(({ victims }) => victims.length === 0)
        if (empty && !isIgnorable) throw new Error(`expected at least one victim pod on node "${empty.node}"`)
        left = agreed.filter(({ victims }) => victims.length > 0)
      } catch (error) {
        if (!isIgnorable) throw error
      }
    }
    return left
  }
}

const objectsOf = (nodes: readonly NodeInfo[]): Node[] => nodes.flatMap(({ node }) => node ?? [])

type ReadPod = (pod: Candidate['victims'][number]) => Pod | undefined

const victimsOf = ({ node, victims, violations }: Candidate, read: ReadPod): Victims => ({
  node,
  pods: victims.flatMap(victim => read(victim) ?? []),
  violations,
})

function podOn(cluster: Cluster, { node, uid, urlPrefix }: { readonly node: string; readonly uid: string; readonly urlPrefix: string }) {
  const info = cluster.node(node)
  if (!info) throw new Error(`nodeinfo not found for node name "${node}"`)
  const pod = info.pods.get(uid)
  if (!pod)
    throw new Error(`extender: ${urlPrefix} claims to preempt pod (UID: &{${uid}}) on node: ${node}, but the pod is not found on that node`)
  return pod
}
