// Recorded responses of a real kube-apiserver: a fresh server responds to every request in the same way. Also tests the comparison and the
// runner.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { patient } from '../kit.ts'
import { type AllowedWording, type Outcome, readAllowedWording, readCases } from './case.ts'
import { differencesOf } from './differences.ts'
import { outcomeOf } from './outcome.ts'
import { replay, type StepResult } from './replay.ts'
import { describeDifferences, summary } from './report.ts'
import { startRecordedServer } from './server.ts'

test('every recorded request is answered as kube-apiserver answered it', { timeout: 3 * patient.timeout }, async t => {
  const server = await startRecordedServer(t)
  const allowed = readAllowedWording()
  const results: StepResult[] = []
  for (const one of readCases()) results.push(...(await replay(server, one, allowed)))
  assert.deepEqual([...describeDifferences(results, 'content'), ...describeDifferences(results, 'wording')], [])
  assert.equal(results.length, 682, 'every recorded answer is compared')
  t.diagnostic(summary(results))
})

const answer = (body: unknown, headers: Record<string, string> = {}) => ({
  code: 200,
  headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  text: JSON.stringify(body),
})
const paths = (recorded: Outcome, got: Outcome, allowed: AllowedWording[] = []) => {
  const { content, wording, allowed: known } = differencesOf(recorded, got, allowed)
  return [content, wording, known].map(differences => differences.map(({ path }) => path))
}

test('uids, times, revisions, tokens, ages and generated names are placeholders', () => {
  const metadata = { generateName: 'a-', name: 'a-x7', uid: '0b4d1f6e-1111-2222-3333-444455556666', resourceVersion: '12' }
  const { body } = outcomeOf(
    { path: '/' },
    answer({ metadata, at: '2026-01-01T00:00:00Z', precise: '2026-01-01T00:00:00.000001Z', cells: ['5m3s', 'a'], continue: 'abc' }),
  )
  assert.deepEqual(body, {
    metadata: { generateName: 'a-', name: '<generated>', uid: '<uid>', resourceVersion: '<rv>' },
    at: '<time>',
    precise: '<microtime>',
    cells: ['<age>', 'a'],
    continue: '<continue>',
  })
})

test('a resourceVersion of 0, a name that was given and an empty continue token stay', () => {
  const body = { metadata: { generateName: 'a-', name: 'b', resourceVersion: '0', continue: '' } }
  assert.deepEqual(outcomeOf({ path: '/' }, answer(body)).body, body)
})

test('managers and causes are compared in any order, other lists in theirs', () => {
  const of = (body: unknown) => outcomeOf({ path: '/' }, answer(body))
  const [a, b] = [
    { field: 'a', reason: 'r', message: 'm' },
    { field: 'b', reason: 'r', message: 'm' },
  ]
  assert.deepEqual(of({ causes: [b, a] }), of({ causes: [a, b] }))
  assert.notDeepEqual(of({ items: [b, a] }), of({ items: [a, b] }))
})

test('only picked paths are compared, and ignored ones are not', () => {
  const body = { a: { b: 1, c: 2 }, d: 3 }
  assert.deepEqual(outcomeOf({ path: '/', pick: ['a.b', 'x'] }, answer(body)).body, { 'a.b': 1 })
  assert.deepEqual(outcomeOf({ path: '/', ignore: ['a.b', 'd'] }, answer(body)).body, { a: { c: 2 } })
})

test('a watch is compared event by event, bookmarks only where they are requested', () => {
  const text = '{"type":"ADDED","object":{}}\n{"type":"BOOKMARK","object":{}}\n'
  const events = (bookmarks: boolean) => outcomeOf({ path: '/', watch: true, bookmarks }, { ...answer(''), text }).events?.length
  assert.deepEqual([events(false), events(true)], [1, 2])
})

test('codes, media types, warnings and every field count as content; messages are wording', () => {
  const base: Outcome = {
    code: 422,
    type: 'application/json',
    body: { reason: 'Invalid', message: 'a', details: { causes: [{ message: 'b' }] } },
  }
  assert.deepEqual(paths(base, base), [[], [], []])
  assert.deepEqual(paths(base, { ...base, code: 400, type: 'text/plain' }), [['code', 'type'], [], []])
  assert.deepEqual(paths(base, { ...base, warnings: ['299 - "x"'] }), [['warnings'], [], []])
  const reworded = { ...base, body: { reason: 'Invalid', message: 'A', details: { causes: [{ message: 'B' }] } } }
  assert.deepEqual(paths(base, reworded), [[], ['body.message', 'body.details.causes.0.message'], []])
  assert.deepEqual(paths({ ...base, warnings: ['299 - "x"'] }, { ...base, warnings: ['299 - "y"'] }), [[], ['warnings.0'], []])
  assert.deepEqual(paths({ code: 200, body: { items: [1] } }, { code: 200, body: { items: [1, 2] } }), [['body.items'], [], []])
})

test('a message may differ only where the list of allowed wording has it', () => {
  const of = (message: string): Outcome => ({ code: 400, body: { message } })
  const allowed = [{ pattern: 'current: \\d+', why: 'depends on the writes before' }]
  assert.deepEqual(paths(of('too large, current: 12'), of('too large, current: 9'), allowed), [[], [], ['body.message']])
  assert.deepEqual(paths(of('too large, current: 12'), of('too big, current: 9'), allowed), [[], ['body.message'], []])
})
