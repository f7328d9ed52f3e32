import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf } from '../../../lib/error-message.ts'
import { logOptions } from './log-options.ts'

const read = (query: string, isOn: boolean) => {
  try {
    return logOptions(new URLSearchParams(query), 'p', name => isOn && name === 'PodLogsQuerySplitStreams').stream
  } catch (error) {
    return messageOf(error)
  }
}

test('one stream of a log can be asked for with the gate for that', () => {
  const about = 'PodLogOptions "p" is invalid:'
  assert.equal(read('stream=Stdout', false), `${about} stream: Forbidden: may not be specified`)
  assert.deepEqual([read('', false), read('', true), read('stream=Stderr', true)], ['All', 'All', 'Stderr'])
  assert.equal(read('stream=x', true), `${about} stream: Unsupported value: "x": supported values: "All", "Stderr", "Stdout"`)
  assert.match(read('stream=Stdout&tailLines=1', true), /`tailLines` and specific `stream` are mutually exclusive for now$/)
  assert.equal(read('stream=All&tailLines=1', true), 'All')
})
