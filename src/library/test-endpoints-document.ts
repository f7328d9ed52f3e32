/** The part of the document of `/keelson/v1` about the state of a server for tests. */
import type { ApiPart } from '../http/documents/own-api.ts'
import { answer, body, FILE, flag, inPath, listOf, number, query, reference, text, time } from '../http/documents/own-api-schemas.ts'

const NAME = inPath('name')
const ID = inPath('id')

const SCHEMAS = {
  Clock: { type: 'object', properties: { time: time, frozen: flag } },
  ClockChange: {
    type: 'object',
    properties: {
      frozen: { type: 'boolean', description: 'true stops the time before, false lets it go on after the other change' },
      advance: { type: 'string', description: 'a duration such as 24h; timers on the way fire in order and at their time' },
      set: { type: 'string', format: 'date-time', description: "a time that is not before the server's" },
    },
  },
  Snapshot: {
    type: 'object',
    properties: { name: text, revision: text, objects: number, bytes: number, created: time },
  },
  Change: {
    type: 'object',
    properties: {
      at: time,
      type: { type: 'string', enum: ['added', 'updated', 'deleted'] },
      apiVersion: text,
      kind: text,
      namespace: text,
      name: text,
      revision: text,
      object: { type: 'object' },
      previous: { type: 'object' },
    },
  },
  AccessUse: {
    type: 'object',
    properties: {
      user: text,
      groups: listOf(text),
      verb: text,
      group: text,
      resource: text,
      subresource: text,
      namespace: text,
      names: listOf(text),
      path: text,
      allowed: number,
      refused: number,
    },
  },
  Fault: { type: 'object', description: 'The requests that it strikes, how often, and its effect: docs/testing-controllers.md.' },
}

const faultList = { type: 'object', properties: { seed: number, faults: listOf(reference('Fault')) } }

export const TEST_API: ApiPart = {
  paths: {
    '/keelson/v1/reset': {
      post: {
        summary: 'Restores the state after the start; clears faults and recordings, and lets time go on',
        responses: { 200: answer('done') },
      },
    },
    '/keelson/v1/settled': {
      get: {
        summary: 'Waits until controllers, scheduler and simulated nodes have nothing to do but to wait for a time to pass',
        parameters: [query('timeoutSeconds', 'the longest wait; default 30')],
        responses: { 200: answer('settled'), 504: answer('they still had work') },
      },
    },
    '/keelson/v1/clock': {
      get: { summary: "The server's time", responses: { 200: answer('the time', reference('Clock')) } },
      post: {
        summary: 'Freezes, advances or sets the time',
        requestBody: body(reference('ClockChange')),
        responses: { 200: answer('the time afterwards', reference('Clock')) },
      },
    },
    '/keelson/v1/changes': {
      get: {
        summary: 'The changes of objects since the start or the last reset, oldest first',
        parameters: [query('after', 'only those after this revision'), query('limit', 'at most so many')],
        responses: {
          200: answer('changes', {
            type: 'object',
            properties: { changes: listOf(reference('Change')), remaining: number },
          }),
        },
      },
      delete: { summary: 'Forgets recorded requests and changes', responses: { 200: answer('done') } },
    },
    '/keelson/v1/access-usage': {
      get: {
        summary: 'The permissions that clients have needed since the start, resets included',
        responses: {
          200: answer('uses', {
            type: 'object',
            properties: { isComplete: flag, uses: listOf(reference('AccessUse')) },
          }),
        },
      },
      delete: { summary: 'Forgets them', responses: { 200: answer('done') } },
    },
    '/keelson/v1/snapshots': {
      get: {
        summary: 'The snapshots in memory',
        responses: { 200: answer('all', { type: 'object', properties: { snapshots: listOf(reference('Snapshot')) } }) },
      },
      post: {
        summary: 'Saves the state; a snapshot of that name is replaced',
        requestBody: body({ type: 'object', properties: { name: text } }),
        responses: { 201: answer('the snapshot', reference('Snapshot')) },
      },
    },
    '/keelson/v1/snapshots/{name}': {
      parameters: [NAME],
      get: { summary: 'One snapshot', responses: { 200: answer('it', reference('Snapshot')) } },
      delete: { summary: 'Forgets a snapshot', responses: { 200: answer('it', reference('Snapshot')) } },
    },
    '/keelson/v1/snapshots/{name}/restore': {
      parameters: [NAME],
      post: {
        summary: 'Restores a state: revisions continue, and watches receive the changes',
        responses: { 200: answer('the snapshot', reference('Snapshot')) },
      },
    },
    '/keelson/v1/snapshots/{name}/file': {
      parameters: [NAME],
      get: { summary: 'A snapshot as a file', responses: { 200: { description: 'the file', content: FILE } } },
      put: {
        summary: 'Keeps a file as a snapshot',
        requestBody: { content: FILE },
        responses: { 201: answer('the snapshot', reference('Snapshot')), 400: answer('it is damaged, or of a later release') },
      },
    },
    '/keelson/v1/faults': {
      get: { summary: 'All faults with their hits', responses: { 200: answer('faults', faultList) } },
      post: { summary: 'Adds a fault', requestBody: body(reference('Fault')), responses: { 201: answer('the fault with its id') } },
      put: { summary: 'Replaces all faults', requestBody: body(faultList), responses: { 200: answer('faults', faultList) } },
      delete: { summary: 'Removes all faults', responses: { 200: answer('faults', faultList) } },
    },
    '/keelson/v1/faults/{id}': {
      parameters: [ID],
      get: { summary: 'One fault', responses: { 200: answer('it') } },
      delete: { summary: 'Removes a fault', responses: { 200: answer('it') } },
    },
  },
  schemas: SCHEMAS,
}
