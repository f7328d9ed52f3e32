import assert from 'node:assert/strict'
import test from 'node:test'
import { explore } from '../../index.ts'
import { readInvariant } from './invariants.ts'

const program = async () => {}

test('wrong options are refused by their names, before a server is started', async () => {
  const cases: [options: object, message: RegExp][] = [
    [{}, /program is missing; or name the requests of the program by user or userAgent/],
    [{ program: 'x' }, /program must be a function/],
    [{ program, budgit: '5m' }, /there is no option budgit; did you mean budget\?/],
    [{ program, budget: '-1s' }, /budget must be milliseconds or a duration such as 5m, above 0, not -1s/],
    [{ program, seed: 0.5 }, /seed must be a whole number, not 0.5/],
    [{ program, perturbations: ['stael'] }, /perturbations: there is no stael; did you mean stale\?/],
    [{ program, only: 'x' }, /only must be the id of a finding/],
    [{ program, restart: 'sometimes' }, /restart must be always, on-failure, never, not sometimes/],
    [{ program, ignore: ['a:b:c'] }, /ignore must be a list of KIND or KIND:FIELD.PATH/],
    [{ program, quietMs: 0 }, /quietMs must be a number above 0/],
    [{ program, user: '' }, /user must be a text/],
    [{ program, invariants: {} }, /invariants must be a list/],
    [{ program, invariants: [{ kind: 'Secret' }] }, /invariants\[0\] must have one of count, noOrphans, noDuplicatesBy, condition/],
  ]
  for (const [options, message] of cases)
    await assert.rejects(
      explore(async () => {}, options as never),
      message,
      JSON.stringify(options),
    )
  await assert.rejects(explore('x' as never, { program }), /explore takes the workload first, a function of a server/)
})

test('an invariant says which field is wrong', () => {
  const cases: [invariant: unknown, message: RegExp][] = [
    ['x', /^at must be an object/],
    [{ kind: 'Secret', cuont: 1 }, /^at\.cuont is unknown; did you mean count\?/],
    [{ kind: 'Secret', count: -1 }, /^at\.count must be a whole number, or \{ min, max \}, not -1/],
    [{ kind: 'Secret', count: { most: 1 } }, /^at\.count must be/],
    [{ kind: '', count: 1 }, /^at\.kind must be a text/],
    [{ count: 1 }, /^at\.kind is missing/],
    [{ kind: 'Pod', count: 1, condition: 'Ready' }, /^at must have one of/],
    [{ kind: 'Pod', labels: { a: 1 }, count: 1 }, /^at\.labels must be a mapping of texts/],
    [{ noOrphans: false }, /^at\.noOrphans must be true/],
  ]
  for (const [invariant, message] of cases) assert.throws(() => readInvariant(invariant, 'at'), { message }, JSON.stringify(invariant))
  for (const valid of [
    { kind: 'Secret', count: 0 },
    { noOrphans: true },
    { kind: 'Pod', condition: 'Ready=False' },
    { kind: 'Pod', count: { max: 2 } },
  ])
    assert.equal(readInvariant(valid, 'at'), valid)
})
