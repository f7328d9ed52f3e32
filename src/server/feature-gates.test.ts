import assert from 'node:assert/strict'
import test from 'node:test'
import { FeatureGateError, readFeatureGates } from './feature-gates.ts'

const GATES = [
  'ShardedListAndWatch',
  'WatchList',
  'GenericWorkload',
  'MutatingAdmissionPolicy',
  'KMSv1',
  'DynamicResourceAllocation',
] as const
const states = (text: string) => {
  const gate = readFeatureGates(text)
  return GATES.map(gate)
}

test('gates are what they are by default until they are named', () => {
  assert.deepEqual(states(''), [false, true, false, true, false, true])
  assert.deepEqual(states('ShardedListAndWatch=true,WatchList=false'), [true, false, false, true, false, true])
  assert.deepEqual(states(' ShardedListAndWatch = TRUE , WatchList=0 ,'), [true, false, false, true, false, true])
  assert.equal(readFeatureGates('')('NoSuchGate'), false)
})

test('AllAlpha and AllBeta stand for every gate of their stage that is not named, in whatever order', () => {
  assert.deepEqual(states('AllAlpha=true'), [true, true, false, true, false, true])
  assert.deepEqual(states('AllBeta=false'), [false, false, false, true, false, true])
  assert.deepEqual(states('AllBeta=true'), [false, true, true, true, false, true])
  assert.deepEqual(states('AllAlpha=true,ShardedListAndWatch=false'), [false, true, false, true, false, true])
  assert.deepEqual(states('WatchList=true,AllBeta=false,AllAlpha=true'), [true, true, false, true, false, true])
})

test('gates that are unknown, fixed or not in order are refused by name', () => {
  const refused = (text: string, why: RegExp) =>
    assert.throws(
      () => readFeatureGates(text),
      (error: Error) => error instanceof FeatureGateError && why.test(error.message),
    )
  refused('Unheard=true', /unknown feature gate Unheard$/)
  refused('allalpha=true', /did you mean AllAlpha\?/)
  refused('watchlist=true', /did you mean WatchList\?/)
  refused('WatchList', /write it as NAME=true/)
  refused('WatchList=maybe', /write it as NAME=true/)
  refused('=true', /\(no name\)/)
  refused('DynamicResourceAllocation=false', /always on/)
  refused('GitRepoVolumeDriver=true', /gone/)
})
