/**
 * Attacks as rows of a table: the permissions of a user, the request, and the required response. Rows share a server; each has its own user
 * and namespace, so that none helps another.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { Agent } from 'node:https'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { StartOptions } from '../../src/index.ts'
import { type Answer, anonymous, ask, connection, type Scope, startInProcess, type Target, temporaryDirectory } from '../kit.ts'

/** Placeholders in all strings of a row for its namespace and its user. */
export const NS = '{ns}'
export const ME = '{me}'

/** `METHOD PATH`, then the body and further parts of the request. */
export type Sending = {
  readonly send: string
  readonly body?: unknown
  /** The media type of the body. Default: JSON. */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

export type Attack = Sending & {
  readonly name: string
  /** The user, if the name matters. */
  readonly user?: string
  readonly groups?: readonly string[]
  /** Permissions in the namespace of the row: `VERBS RESOURCE.GROUP/SUBRESOURCE NAMES`, each a list with commas. */
  readonly may?: readonly string[]
  /** Permissions in the whole cluster; `VERBS /PATH` is for a non-resource path. */
  readonly mayAnywhere?: readonly string[]
  /** Objects that the admin has created before: the path of a collection and the object. */
  readonly given?: readonly (readonly [collection: string, object: object])[]
  /** Requests that the user sends before, successfully. */
  readonly before?: readonly Sending[]
  /** The expected status, or several if any of them is fine. */
  readonly answer: number | readonly number[]
  /** Required content of the response: it was refused for this reason and no other. */
  readonly says?: RegExp | string
  /** Forbidden content of the response. */
  readonly hides?: RegExp
  /** Objects that must be unchanged, except for their resourceVersion and managed fields. */
  readonly unchanged?: readonly string[]
  /** Objects that must not exist afterwards. */
  readonly absent?: readonly string[]
}

export type Arena = Target & {
  /** A request as the admin. */
  readonly admin: (sending: Sending) => Promise<Answer>
  /** A request as the user of a token. */
  readonly as: (token: string, sending: Sending) => Promise<Answer>
  readonly agent: Agent
}

/** The default user of a row. */
const userOf = ({ user }: Pick<Attack, 'user'>, row: number) => user ?? `mallory-${row}`
export const tokenOf = (row: number) => `token-of-row-${row}`

/** A server where every row has a user with a token. */
export async function startArena(t: Scope, rows: readonly Attack[], options: StartOptions = {}): Promise<Arena> {
  const file = join(temporaryDirectory(t), 'tokens.csv')
  const lines = rows.map((row, i) => `${tokenOf(i)},"${userOf(row, i)}",uid-${i},"${(row.groups ?? []).join(',')}"`)
  writeFileSync(file, `${lines.join('\n')}\n`)
  const server = await startInProcess(t, {
    tokenAuthFile: file,
    controllers: ['clusterrole-aggregation-controller'],
    ...options,
  })
  const agent = connection(t)
  const send = (who: object, { send: line, body, type = 'application/json', headers = {} }: Sending) => {
    const [method = '', path = ''] = line.split(' ')
    const framing: Record<string, string> = body === undefined ? {} : { 'content-type': type }
    const more = (who as { headers?: Record<string, string> }).headers ?? {}
    return ask(server, path, { agent, ...who, method, headers: { ...framing, ...more, ...headers }, ...(body !== undefined && { body }) })
  }
  // Connections with the admin's certificate are not shared: a certificate takes precedence over a token.
  const strangers = connection(t)
  return {
    ...server,
    agent: strangers,
    admin: sending => send({}, sending),
    as: (token, sending) => send({ ...anonymous, agent: strangers, headers: { authorization: `Bearer ${token}` } }, sending),
  }
}

/** Runs every row as a test of its own, which is named after it. */
export async function runAttacks(t: TestContext, arena: Arena, rows: readonly Attack[]): Promise<void> {
  assert.equal(new Set(rows.map(({ name }) => name)).size, rows.length, 'every row has a name of its own')
  for (const [i, row] of rows.entries()) await t.test(row.name, () => runAttack(arena, row, i))
}

async function runAttack(arena: Arena, template: Attack, i: number): Promise<void> {
  const row = filledIn(template, { ns: `row-${i}`, me: userOf(template, i) })
  await arrange(arena, row, i)
  const before = await Promise.all((row.unchanged ?? []).map(path => read(arena, path)))
  for (const sending of row.before ?? []) {
    const { status, text } = await arena.as(tokenOf(i), sending)
    assert.ok(status < 300, `before the attack, ${sending.send} is allowed: ${text}`)
  }
  const { status, text } = await arena.as(tokenOf(i), row)
  assert.ok([row.answer].flat().includes(status), `${row.send} was answered with ${status}: ${text.slice(0, 500)}`)
  const { says, hides } = template
  const plain = text.replaceAll('\\"', '"')
  if (says !== undefined) assert.ok(typeof says === 'string' ? plain.includes(says) : says.test(plain), `the answer is another: ${plain}`)
  if (hides) assert.doesNotMatch(text, hides)
  assert.deepEqual(await Promise.all((row.unchanged ?? []).map(path => read(arena, path))), before)
  for (const path of row.absent ?? []) assert.equal((await arena.admin({ send: `GET ${path}` })).status, 404, path)
}

/** The row with its namespace and user in place of the placeholders; regular expressions are unchanged. */
function filledIn(row: Attack, { ns, me }: { readonly ns: string; readonly me: string }): Attack {
  const text = JSON.stringify(row, (_, value) => (value instanceof Uint8Array ? [...value] : value))
  return JSON.parse(text.replaceAll(NS, ns).replaceAll(ME, me))
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1'

async function arrange(arena: Arena, { may = [], mayAnywhere = [], given = [], user }: Attack, i: number): Promise<void> {
  const make = async (collection: string, body: object) => {
    const { status, text } = await arena.admin({ send: `POST ${collection}`, body })
    assert.equal(status, 201, `POST ${collection}: ${text}`)
  }
  const name = `row-${i}`
  const subjects = [{ kind: 'User', name: user ?? `mallory-${i}` }]
  const within = `${RBAC}/namespaces/${name}`
  await make('/api/v1/namespaces', { metadata: { name } })
  if (may.length > 0) {
    await make(`${within}/roles`, { metadata: { name }, rules: may.map(ruleOf) })
    await make(`${within}/rolebindings`, { metadata: { name }, roleRef: { kind: 'Role', name }, subjects })
  }
  if (mayAnywhere.length > 0) {
    await make(`${RBAC}/clusterroles`, { metadata: { name }, rules: mayAnywhere.map(ruleOf) })
    await make(`${RBAC}/clusterrolebindings`, { metadata: { name }, roleRef: { kind: 'ClusterRole', name }, subjects })
  }
  for (const [collection, object] of given) await make(collection, object)
}

/** `get,list deployments.apps/scale a,b` as a rule. */
export function ruleOf(text: string): object {
  const [verbs = '', what = '', names] = text.split(' ')
  if (what.startsWith('/')) return { verbs: verbs.split(','), nonResourceURLs: what.split(',') }
  const parsed = what.split(',').map(each => {
    const [resource = '', subresource] = each.split('/')
    const [plural = '', ...group] = resource.split('.')
    return { group: plural === '*' ? '*' : group.join('.'), resource: subresource === undefined ? plural : `${plural}/${subresource}` }
  })
  return {
    verbs: verbs.split(','),
    apiGroups: [...new Set(parsed.map(({ group }) => group))],
    resources: parsed.map(({ resource }) => resource),
    ...(names !== undefined && { resourceNames: names.split(',') }),
  }
}

/** An object without the fields that every write changes. */
async function read(arena: Arena, path: string): Promise<unknown> {
  const { status, json, text } = await arena.admin({ send: `GET ${path}` })
  assert.equal(status, 200, `GET ${path}: ${text}`)
  const { resourceVersion: _, managedFields: __, generation: ___, ...metadata } = json.metadata
  return { ...json, metadata }
}
