import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatusError } from '../schema/status-error.ts'
import { deleteOptions, listOptions, writeOptions } from './options.ts'

const query = (text: string) => new URLSearchParams(text)
const gate = () => true

function refusal(read: () => unknown): StatusError {
  try {
    read()
  } catch (error) {
    if (error instanceof StatusError) return error
    throw error
  }
  throw new assert.AssertionError({ message: 'nothing was refused' })
}

for (const groupDomain of ['k8s.io', 'example.com']) {
  test(`errors of options name the meta group of ${groupDomain}`, () => {
    const told = [
      ['CreateOptions', () => writeOptions(query('dryRun=x'), 'CreateOptions', { groupDomain })],
      ['UpdateOptions', () => writeOptions(query('dryRun=x'), 'UpdateOptions', { groupDomain })],
      ['PatchOptions', () => writeOptions(query(''), 'PatchOptions', { groupDomain, isApply: true })],
      ['DeleteOptions', () => deleteOptions(query(''), { propagationPolicy: 'x' }, { groupDomain, gate: () => true })],
      ['ListOptions', () => listOptions(query('sendInitialEvents=1'), { groupDomain, gate })],
    ] as const
    for (const [kind, read] of told) {
      const { code, message, details } = refusal(read)
      assert.equal(code, 422)
      assert.equal(message.split(' is invalid: ')[0], `${kind}.meta.${groupDomain} ""`)
      assert.deepEqual([details?.group, details?.kind], [`meta.${groupDomain}`, kind])
    }
  })
}

test('a time limit of a watch is counted in nanoseconds of 64 bits', () => {
  const limit = (seconds: string) =>
    listOptions(query(`timeoutSeconds=${encodeURIComponent(seconds)}`), { groupDomain: 'k8s.io', gate }).timeoutMs
  assert.deepEqual(['0', '-0', '+5', '-5'].map(limit), [undefined, undefined, 5000, -5000])
  assert.ok(limit('9223372036')! > 0)
  assert.ok(limit('9223372037')! < 0)
  for (const text of ['', ' 1', '1.0', '1e3', '0x1', '1_0'])
    assert.equal(refusal(() => limit(text)).message, `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  assert.equal(refusal(() => limit('9223372036854775808')).message, 'strconv.ParseInt: parsing "9223372036854775808": value out of range')
})
