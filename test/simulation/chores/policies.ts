/** Nothing is stored that a policy in effect refuses, and nothing is refused once no policy does. */
import { monotonicMs } from '../../../src/lib/environment.ts'
import { ask, BEHIND_MS, type Chore, isUnknown, itemsOf, make, repeatedly, rest, type Stage } from './chore.ts'

const API = '/apis/admissionregistration.k8s.io/v1'
const PATH = '/api/v1/namespaces/policies/secrets'
const MAX_LEVEL = 4
const CREATORS = 2

/** A policy that is acknowledged: levels from `limit` on are refused; all are admitted where it is undefined. */
type Effect = { readonly label: string; readonly limit: number | undefined; readonly since: number }

export function policies(): Chore {
  let effect: Effect | undefined
  /** Objects that had to be refused. */
  const refused = new Set<string>()
  let count = 0
  /** A policy whose last write has an unknown outcome is given up, for that write may still be made: the next one has another name. */
  let generation = 0

  async function administer(stage: Stage): Promise<void> {
    effect = undefined
    const [name, label] = [`levels-${generation}`, `level-${generation}`]
    const limit = stage.random.oneIn(3) ? undefined : stage.random.below(MAX_LEVEL)
    const isKnown =
      limit === undefined
        ? await removed(stage, stage.random.pick([policyPath(name), bindingPath(name)]))
        : (await applied(stage, policyPath(name), policyOf(label, limit))) && (await applied(stage, bindingPath(name), bindingOf(name)))
    if (isKnown) effect = { label, limit, since: monotonicMs() }
    else generation++
    await rest(stage, 600)
  }

  async function create(stage: Stage): Promise<void> {
    const { connection, random, broken } = stage
    const atBegin = effect
    const level = random.below(MAX_LEVEL)
    const name = `s-${count++}`
    const metadata = { name, ...(atBegin && { labels: { [atBegin.label]: String(level) } }) }
    const isKnown = atBegin !== undefined && monotonicMs() - atBegin.since > BEHIND_MS
    const answer = await ask(connection, { method: 'POST', path: PATH, body: { metadata } })
    // A request that has no answer, or was under way while the policy changed, may be decided by either.
    if (answer && isKnown && atBegin === effect) {
      const isRefused = atBegin.limit !== undefined && level >= atBegin.limit
      const shown = `a secret of level ${level}, where a policy refuses levels from ${atBegin.limit} on,`
      if (isRefused) refused.add(name)
      if (isRefused && answer.status === 201) broken(`${shown} was created`)
      if (!isRefused && (answer.status === 422 || answer.status === 403)) broken(`${shown} was refused: ${JSON.stringify(answer.json)}`)
    }
    await rest(stage, 60)
  }

  return {
    name: 'policies',
    async prepare({ connection }) {
      await make(connection, '/api/v1/namespaces', { metadata: { name: 'policies' } })
    },
    work: stage => repeatedly(stage, 1 + CREATORS, client => (client === 0 ? administer(stage) : create(stage))),
    async check(stage) {
      for (const { metadata } of (await itemsOf(stage.connection, PATH)) ?? [])
        if (refused.has(metadata.name)) stage.broken(`${metadata.name} is stored although a policy in effect refuses it`)
    },
  }
}

const policyPath = (name: string) => `${API}/validatingadmissionpolicies/${name}`
const bindingPath = (name: string) => `${API}/validatingadmissionpolicybindings/${name}`

function policyOf(label: string, limit: number) {
  const labels = 'object.metadata.labels'
  const expression = `!has(${labels}) || !('${label}' in ${labels}) || int(${labels}['${label}']) < ${limit}`
  const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'], operations: ['CREATE'] }
  return {
    kind: 'ValidatingAdmissionPolicy',
    spec: { failurePolicy: 'Fail', matchConstraints: { resourceRules: [rule] }, validations: [{ expression }] },
  }
}

const bindingOf = (policyName: string) => ({
  kind: 'ValidatingAdmissionPolicyBinding',
  spec: { policyName, validationActions: ['Deny'] },
})

/** Whether the object is acknowledged to be there. */
async function applied({ connection }: Stage, path: string, object: object): Promise<boolean> {
  const body = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name: path.slice(path.lastIndexOf('/') + 1) }, ...object }
  const type = 'application/apply-patch+yaml'
  const answer = await ask(connection, { method: 'PATCH', path: `${path}?fieldManager=admin&force=true`, type, body })
  return answer?.status === 200 || answer?.status === 201
}

/** Whether the object is acknowledged to be gone. */
async function removed({ connection }: Stage, path: string): Promise<boolean> {
  const answer = await ask(connection, { method: 'DELETE', path })
  return !isUnknown(answer) && (answer!.status === 200 || answer!.status === 404)
}
