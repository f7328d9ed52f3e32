/** Writers: create, replace and patch with and without a resourceVersion, delete one or many, over and over on a few contested keys. */
import type { Answer } from './connection.ts'
import type { Delete, Key, Put, Sweep, WriteOutcome } from './history.ts'
import { annotationsOf, collectionOfKey, objectOf, objectPath, partsOf, seen, specOf, valueWith } from './objects.ts'
import { type Client, COLORS, chooseKey, isUnavailable, now, pause, type Run, record, TIERS } from './run.ts'
import { collectionPath, type Selection, selectorQuery } from './selection.ts'

const PAUSE_MS = 40

/** Writes until the run stops. */
export async function write(run: Run, client: Client): Promise<void> {
  const { random } = client
  while (!run.stop.aborted) {
    const key = chooseKey(run, client)
    const chance = random.below(100)
    let wasAnswered: boolean
    if (chance < 12) wasAnswered = await remove(run, client, key)
    else if (chance < 13) wasAnswered = await sweep(run, client, selectionToSweep(client))
    else wasAnswered = await put(run, client, choosePut(run, client, key))
    await pause(run, wasAnswered ? random.below(2 * PAUSE_MS) : 2 * PAUSE_MS)
  }
}

export type PutChoice = Pick<Put, 'verb' | 'key' | 'labels'> & { readonly expects?: number; readonly heavy: boolean }

function choosePut(run: Run, { random }: Client, key: Key): PutChoice {
  const known = run.known.get(key)
  const labels = { color: random.pick(COLORS), ...(random.oneIn(2) && { tier: random.pick(TIERS) }) }
  const heavy = random.oneIn(8)
  const names = known && random.oneIn(3) ? { expects: known.revision } : {}
  if (!known || random.oneIn(4)) return { verb: 'create', key, labels, heavy }
  // Custom objects can only be replaced with a resourceVersion.
  if (random.oneIn(2) && (partsOf(key).resource !== 'widgets' || names.expects !== undefined))
    return { verb: 'replace', key, labels, heavy, ...names }
  const changes = random.pick<Put['labels']>([{}, { color: random.pick(COLORS) }, { tier: random.pick(TIERS) }, { tier: null }])
  return { verb: 'patch', key, labels: changes, heavy, ...names }
}

/** Makes one write and records it; false when no response came. */
export async function put(run: Run, client: Client, { heavy, ...choice }: PutChoice): Promise<boolean> {
  const { verb, key, labels, expects } = choice
  const value = valueWith(`w${run.since}.${++run.writes}`, heavy ? client.random.below(run.habits.heavyBytes) : client.random.below(20))
  const start = now()
  const answer = await client.connection.call(putRequest(client, { ...choice, value })).catch(() => undefined)
  const outcome = outcomeOf(run, answer, `${verb} ${key}`, json => ({ is: 'done', object: seen(partsOf(key).resource, json) }) as const)
  const act: Put = {
    type: 'put',
    client: client.name,
    verb,
    key,
    value,
    labels,
    start,
    end: now(),
    outcome,
    ...(expects !== undefined && { expects }),
  }
  record(run, act)
  // The revision of a deleted object is kept, for writes that must fail; but then a writer has to create it again.
  if (outcome.is === 'refused' && outcome.code === 404) run.known.delete(key)
  return answer !== undefined
}

function putRequest({ random }: Client, { verb, key, value, labels, expects }: Omit<PutChoice, 'heavy'> & { value: string }) {
  const body = objectOf(key, { value, labels, ...(expects !== undefined && { expects }) })
  if (verb === 'create') return { method: 'POST', path: collectionOfKey(key), body }
  const path = objectPath(key)
  if (verb === 'replace') return { method: 'PUT', path, body }
  const annotations = annotationsOf(value)
  const isCustom = partsOf(key).resource === 'widgets'
  const metadata = { annotations, labels, ...(expects !== undefined && { resourceVersion: String(expects) }) }
  const patched = { metadata, ...(isCustom && { spec: specOf(labels) }) }
  const takesAway = Object.values(labels).includes(null)
  const kinds = ['merge', ...(isCustom ? [] : ['strategic-merge']), ...(takesAway || expects !== undefined ? [] : ['json'])]
  const kind = random.pick(kinds)
  const type = `application/${kind}-patch+json`
  if (kind !== 'json') return { method: 'PATCH', path, body: patched, type }
  const additions = Object.entries({ ...labels }).map(([name, label]) => ({ op: 'add', path: `/metadata/labels/${name}`, value: label }))
  if (isCustom && 'color' in labels) additions.push({ op: 'add', path: '/spec/color', value: labels.color! })
  return { method: 'PATCH', path, type, body: [{ op: 'replace', path: '/metadata/annotations', value: annotations }, ...additions] }
}

async function remove(run: Run, { connection, name, random }: Client, key: Key): Promise<boolean> {
  const known = run.known.get(key)
  const names = known && random.oneIn(3) ? { expects: known.revision } : {}
  const body =
    names.expects === undefined
      ? undefined
      : { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { resourceVersion: String(names.expects) } }
  const start = now()
  const answer = await connection.call({ method: 'DELETE', path: objectPath(key), ...(body && { body }) }).catch(() => undefined)
  const outcome: Delete['outcome'] = outcomeOf(run, answer, `delete ${key}`, ({ kind, details, metadata }) =>
    kind === 'Status'
      ? ({ is: 'done', uid: details.uid } as const)
      : ({ is: 'done', uid: metadata.uid, revision: Number(metadata.resourceVersion) } as const),
  )
  record(run, { type: 'delete', client: name, key, start, end: now(), outcome, ...names })
  return answer !== undefined
}

const selectionToSweep = ({ random }: Client): Selection => ({
  ...random.pick([
    { resource: 'configmaps', namespace: 'east' } as const,
    { resource: 'configmaps', namespace: 'west' } as const,
    { resource: 'deviceclasses' } as const,
    { resource: 'widgets', namespace: 'west', version: 'v2' } as const,
  ]),
  labels: { label: 'color', operator: 'in', values: [random.pick(COLORS)] },
})

async function sweep(run: Run, { connection, name }: Client, selection: Selection): Promise<boolean> {
  const start = now()
  const path = `${collectionPath(selection)}?${new URLSearchParams(selectorQuery(selection))}`
  const answer = await connection.call({ method: 'DELETE', path }).catch(() => undefined)
  const outcome: Sweep['outcome'] = outcomeOf(run, answer, `sweep ${path}`, ({ metadata, items }) => ({
    is: 'done',
    revision: Number(metadata.resourceVersion),
    items: items.map((item: unknown) => seen(selection.resource, item)),
  }))
  // A sweep may have deleted some objects before it was refused.
  record(run, {
    type: 'sweep',
    client: name,
    selection,
    start,
    end: now(),
    outcome: outcome.is === 'refused' ? { is: 'unknown' } : outcome,
  })
  return answer !== undefined
}

function outcomeOf<T>(
  run: Run,
  answer: Answer | undefined,
  what: string,
  done: (json: any) => T,
): T | Exclude<WriteOutcome, { is: 'done' }> {
  if (answer === undefined) return { is: 'unknown' }
  const { status, json } = answer
  if (status === 200 || status === 201) return done(json)
  if (status === 404 || status === 409) return { is: 'refused', code: status }
  if (!isUnavailable(run, status)) run.failures.push(`${what} was answered with ${status}: ${JSON.stringify(json).slice(0, 300)}`)
  return { is: 'unknown' }
}
