import assert from 'node:assert/strict'
import test from 'node:test'
import { readReleases } from './releases.ts'

const read = (emulatedVersion = '', minCompatibilityVersion = '', forward = false) =>
  readReleases({
    emulatedVersion,
    minCompatibilityVersion,
    emulationForwardCompatible: forward,
    runtimeConfigEmulationForwardCompatible: forward,
  })

test('records are readable for the release before the emulated one, unless another is named', () => {
  assert.deepEqual(read(), { emulated: '1.37', oldest: '1.36' })
  assert.deepEqual(read('1.36'), { emulated: '1.36', oldest: '1.35' })
  assert.deepEqual(read('kube=v1.34'), { emulated: '1.34', oldest: '1.34' })
  assert.deepEqual(read('1.36', '1.36'), { emulated: '1.36', oldest: '1.36' })
  assert.deepEqual(read('', 'kube=1.37'), { emulated: '1.37', oldest: '1.37' })
})

const REFUSED: readonly (readonly [emulated: string, oldest: string, message: string])[] = [
  ['1.33', '', '[emulation version 1.33 is not between [1.34, 1.37.0], minCompatibilityVersion version 1.34 is not between [1.34, 1.33]]'],
  ['1.38', '', 'emulation version 1.38 is not between [1.34, 1.37.0]'],
  ['foo', '', 'could not parse "foo" as version'],
  ['1', '', 'illegal version string "1"'],
  ['1.36.2', '', 'patch version not allowed, got: kube=1.36.2'],
  ['1.36,1.35', '', 'duplicate version flag, kube=1.36 and kube=1.35'],
  ['wardle=1.2', '', 'component not registered: wardle'],
  ['1.35', '1.36', 'minCompatibilityVersion version 1.36 is not between [1.34, 1.35]'],
  ['', '1.33', 'minCompatibilityVersion version 1.33 is not between [1.34, 1.37]'],
]

test('faults are refused in the words of kube-apiserver', () => {
  for (const [emulated, oldest, message] of REFUSED) assert.throws(() => read(emulated, oldest), { message })
  assert.throws(() => read('', '', true), /EmulationForwardCompatible cannot be set to true if the emulation version is the same as/)
  assert.doesNotThrow(() => read('1.36', '', true))
})
