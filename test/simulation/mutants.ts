/** Known bugs, as changes of the source. The simulator must find each of them; an undetected one shows a gap of the simulator. */

export type Mutant = {
  readonly name: string
  readonly file: string
  /** A text that the file has once. */
  readonly find: string
  readonly replace: string
  /** How long clients work in a run, in milliseconds, where it takes longer than usual to show. */
  readonly ms?: number
  /** The chores of every run, where few seeds have them. */
  readonly chores?: readonly string[]
  /** Whether runs are those of several processes on one embedded store, without servers. */
  readonly processes?: true
  /** Whether the servers of every run are processes of one server. */
  readonly processServers?: true
}

/** Long enough for the controllers of another server to take over more than once. */
const ELECTIONS_MS = 20_000
/** Long enough for something to happen that is rare: a pause just between two calls, or a request just while a server ends. */
const RARE_MS = 60_000

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a watch from forgotten history goes on without it',
    file: 'src/cache/watch.ts',
    find: 'if (this.#position < oldest) {',
    replace: 'if (this.#position < 0) {',
  },
  {
    name: 'the event at the forgotten revision is missing',
    file: 'src/cache/resource-cache.ts',
    find: 'this.#oldest = object.revision\n',
    replace: 'this.#oldest = object.revision - 1\n',
  },
  {
    name: 'a watch from a future revision gets old events',
    file: 'src/cache/watch.ts',
    find: 'if (current.revision <= this.#position) return\n',
    replace: '',
  },
  {
    name: 'events are sent twice after a client was slow',
    file: 'src/cache/watch.ts',
    find: 'this.#position = current.revision\n    if (this.#sink',
    replace: 'if (this.#sink',
  },
  {
    name: 'a bookmark is ahead of events that are not sent yet',
    file: 'src/cache/watch.ts',
    find: "this.#state === 'live' && this.#newest()",
    replace: "this.#state !== 'new' && this.#newest()",
  },
  {
    name: 'a bookmark has the next revision',
    file: 'src/cache/open-watches.ts',
    find: 'bookmarkOf(watch.cache.resource, this.#newest())',
    replace: 'bookmarkOf(watch.cache.resource, this.#newest() + 1)',
  },
  {
    name: 'the bookmark after initial events has the newest revision',
    file: 'src/cache/watch.ts',
    find: 'this.#request.afterInitial?.(this.#position)',
    replace: 'this.#request.afterInitial?.(this.#newest() + 1)',
  },
  {
    name: 'an object that leaves a selection is not reported',
    file: 'src/cache/watchers.ts',
    find: "return was ? this.#event('DELETED') : undefined",
    replace: "return was && this.#current.deleted ? this.#event('DELETED') : undefined",
  },
  {
    name: 'an object that enters a selection is reported as modified',
    file: 'src/cache/watchers.ts',
    find: "this.#event(was ? 'MODIFIED' : 'ADDED')",
    replace: "this.#event(this.#before ? 'MODIFIED' : 'ADDED')",
  },
  {
    name: 'watchers of the former label are not told',
    file: 'src/cache/watchers.ts',
    find: 'if (then !== now) for (const watcher of then) if (!now.has(watcher)) yield watcher',
    replace: '',
  },
  {
    name: 'the index of labels keeps former values',
    file: 'src/cache/resource-cache.ts',
    find: 'this.#postings.replace(wasLive ? before : undefined, slot.live ? object : undefined)',
    replace: 'this.#postings.replace(undefined, slot.live ? object : undefined)',
  },
  {
    name: 'a list at a revision shows newer objects',
    file: 'src/cache/resource-cache.ts',
    find: 'at === undefined ? slot.newest : objectAt(slot.newest, at)',
    replace: 'slot.newest',
  },
  {
    name: 'the number of remaining objects is that of now',
    file: 'src/cache/resource-cache.ts',
    find: 'remaining += Number(then !== undefined && !then.deleted) - Number(slot.live)',
    replace: '',
  },
  {
    name: 'a continue token has another revision',
    file: 'src/registry/continue-token.ts',
    find: 'JSON.stringify([revision, ',
    replace: 'JSON.stringify([revision + 1, ',
  },
  {
    name: 'a page begins with the last object of the one before',
    file: 'src/cache/resource-cache.ts',
    find: 'after === undefined ? this.#order.atOrAfter(prefix) : this.#order.after(after)',
    replace: 'this.#order.atOrAfter(after ?? prefix)',
  },
  {
    name: 'the caches go on after a cut one revision too late',
    file: 'src/cache/follower.ts',
    find: "this.#store.watch('/', this.#position.revision, signal)",
    replace:
      "this.#store.watch('/', this.#position.revision > 250 ? Math.min(this.#position.revision + 1, await Promise.resolve(this.#store.fresh())) : this.#position.revision, signal)",
  },
  {
    name: 'changes are lost while a kind is loaded again',
    file: 'src/cache/joining.ts',
    find: 'for (const event of this.#kept.get(prefix)!) cache.apply(event)\n',
    replace: '',
  },
  {
    name: 'watches stay open when the caches have missed history',
    file: 'src/cache/follower.ts',
    find: 'this.#watches.endThoseOf(cache, reason)',
    replace: 'if (isBack) this.#watches.endThoseOf(cache, reason)',
  },
  {
    name: 'a write is acknowledged before it can be read',
    file: 'src/cache/own-writes.ts',
    find: 'whenDone(this.#position.revision < revision ? this.#position.reached(revision) : undefined, () => {',
    replace: 'whenDone(undefined as void | undefined, () => {',
  },
  {
    name: 'a server that is behind answers reads at once',
    file: 'src/cache/freshness.ts',
    find: 'if (this.#next) return this.#next\n',
    replace: 'if (this.#confirmedAt > 0) return undefined\n    if (this.#next) return this.#next\n',
  },
  {
    name: 'a read relies on a question that was sent before it',
    file: 'src/cache/freshness.ts',
    find: 'if (!this.#underWay) return this.#send()\n',
    replace: 'return this.#underWay ?? this.#send()\n',
  },
  {
    name: 'a read does not wait until the revision is there',
    file: 'src/cache/freshness.ts',
    find: 'return asked.then(this.#reach).then(() => this.confirm(sentAt))',
    replace: 'return asked.then(() => this.confirm(sentAt))',
  },
  {
    name: 'a refusal on outdated state is final',
    file: 'src/http/fresh.ts',
    find: 'if (!dependsOnState(error)) throw error\n',
    replace: 'throw error\n',
    ms: RARE_MS,
  },
  {
    name: 'the store does not compare before it swaps',
    file: 'src/storage/memory.ts',
    find: 'if ((current?.modified ?? 0) !== expect || (!current && value === null))',
    replace: 'if (!current && value === null)',
  },
  {
    name: 'the store does not check fences',
    file: 'src/storage/memory.ts',
    find: 'for (const fence of fences) if (',
    replace: 'for (const fence of fences) if (fence.modified < 0 && ',
    ms: ELECTIONS_MS,
    chores: ['duties'],
  },
  {
    name: 'an update ignores its resourceVersion',
    file: 'src/registry/write.ts',
    find: 'if (metadata.resourceVersion !== current) throw conflict(resource, name, MODIFIED)\n    return',
    replace: 'metadata.resourceVersion = current\n    return',
  },
  {
    name: 'a deletion ignores its preconditions',
    file: 'src/registry/preconditions.ts',
    find: 'if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)\n    throw conflict(\n      subject,',
    replace: 'if (resourceVersion === "")\n    throw conflict(\n      subject,',
  },
  {
    name: 'an unknown outcome is reported as a conflict',
    file: 'src/server/data/observed-store.ts',
    find: 'throw outcomeUnknown(error.message)',
    replace: 'throw new StatusError(409, "Conflict", error.message)',
  },
  {
    name: 'the store forgets deletions at a compaction too early',
    file: 'src/storage/history.ts',
    find: 'if (!latest.deleted || latest.modified > oldest || this.#timelines.get(key) !== timeline) return',
    replace: 'if (!latest.deleted || this.#timelines.get(key) !== timeline) return',
  },
  {
    name: 'a watch of the store skips what it read while it caught up',
    file: 'src/storage/feed.ts',
    find: 'if (batch.revision === this.#source.newest()) this.#state',
    replace: 'if (batch.revision >= this.#source.newest() - 1) this.#state',
  },
  {
    name: 'a progress report takes the place of events',
    file: 'src/storage/feed.ts',
    find: 'if (last && last.events.length === 0) this.#queue.pop()',
    replace: 'if (last && (last.events.length === 0 || batch.events.length === 0)) this.#queue.pop()',
  },
  {
    name: 'an address is released although its service may be stored',
    file: 'src/registry/allocations.ts',
    find: 'released: mayHaveHappened(error) ? [] : taken }',
    replace: 'released: taken }',
    chores: ['services'],
  },
  {
    name: 'an address is released while its service is changed',
    file: 'src/registry/allocations.ts',
    find: '[...before, ...taken].filter(claim => !kept.has(idOf(claim)))',
    replace: '[...before, ...taken]',
  },
  {
    name: 'a quota is not charged for writes that are decided together',
    file: 'src/admission/plugins/resource-quota/resource-quota.ts',
    find: 'used: addLists(running.used, taken)',
    replace: 'used: running.used',
  },
  {
    name: 'every owner is taken for absent',
    file: 'src/controllers/garbagecollector/controller.ts',
    find: "if (this.#graph.isGone(uid)) return { is: 'absent' }",
    replace: "if (uid) return { is: 'absent' }",
  },
  {
    name: 'objects are created in a namespace that is being deleted',
    file: 'src/admission/plugins/namespace-lifecycle.ts',
    find: 'if (found.metadata.deletionTimestamp) throw terminating(',
    replace: 'if (found.metadata.deletionTimestamp === "") throw terminating(',
  },
  {
    name: 'a write does not depend on the namespace that it relied on',
    file: 'src/admission/plugins/namespace-lifecycle.ts',
    find: 'attributes.needs(NAMESPACES, found)\n',
    replace: '\n',
    chores: ['namespaces'],
  },
  {
    name: 'a binding that was deleted still permits',
    file: 'src/authz/role-index.ts',
    find: 'if (old) for (const subject of subjectKeys(old)) this.#unbind(subject, old)\n',
    replace: '',
  },
  {
    name: 'a policy that was changed still decides as before',
    file: 'src/server/admission/policies-and-webhooks.ts',
    find: 'if (found?.id === id) return found.value',
    replace: 'if (found) return found.value',
  },
  {
    name: 'objects are created while their definition is being deleted',
    file: 'src/custom/compile.ts',
    find: 'if (state.terminating) throw forbiddenRequest(',
    replace: 'if (name === "") throw forbiddenRequest(',
  },
  {
    name: 'a device that is being allocated is free for others',
    file: 'src/devices/usage.ts',
    find: 'this.#stored.get(claim) ?? this.#assumed.get(claim)?.results ?? NOTHING',
    replace: 'this.#stored.get(claim) ?? NOTHING',
  },
  {
    name: 'a device is free although its allocation may still be written',
    file: 'src/scheduler/devices/client-devices.ts',
    find: 'if (error instanceof AllocationUndecided) {',
    replace: 'if (error instanceof AllocationUndecided && signal.aborted) {',
    chores: ['devices'],
  },
  {
    name: 'a lease is held from when it was asked for',
    file: 'src/client/leader-election.ts',
    find: 'this.#seen = { record, at: monotonicMs() }',
    replace: 'this.#seen = { record, at: now }',
    chores: ['duties'],
  },
  {
    name: 'a leader counts from when its renewal was answered',
    file: 'src/client/leader-election.ts',
    find: 'this.#until = began + timing.renewMs',
    replace: 'this.#until = monotonicMs() + timing.renewMs',
    chores: ['duties'],
  },
  {
    name: 'a stateful set does not wait for the pod before',
    file: 'src/controllers/statefulset/reconcile.ts',
    find: "spec.podManagementPolicy !== 'Parallel'",
    replace: "spec.podManagementPolicy === ''",
  },
  {
    name: 'a write is shown before it is durable',
    file: 'src/cache/own-writes.ts',
    find: '    const swapping = this.#store.swap(key, change)\n',
    replace: `    const next = this.#position.revision + 1
    const shown = { key, value: madeBytes(value)!, created: change.expect || next, modified: next }
    if (shown.value) this.#table.ofKey(key)?.apply({ key, after: shown, revision: next })
    const swapping = this.#store.swap(key, change)\n`,
  },
  {
    name: 'a quota is charged twice',
    file: 'src/admission/plugins/resource-quota/resource-quota.ts',
    find: 'used: addLists(running.used, taken)',
    replace: 'used: addLists(addLists(running.used, taken), taken)',
  },
  {
    name: 'a lease is not renewed',
    file: 'src/client/leader-election.ts',
    find: 'await Promise.race([candidate.tryToLead().catch(ignore), pause(candidate.leftMs, signal)])',
    replace: 'await pause(candidate.leftMs, signal)',
    chores: ['duties'],
  },
  {
    name: 'a term begins although another has the lease',
    file: 'src/server/controllers/leadership.ts',
    find: 'fences: [lease] })',
    replace: 'fences: [] })',
    ms: RARE_MS,
    chores: ['duties'],
  },
  {
    name: 'writes of a former leader are not refused',
    file: 'src/server/clients/client-backend.ts',
    find: 'background.write({ ...request, beforeStore, fence })',
    replace: 'background.write({ ...request, beforeStore })',
    ms: ELECTIONS_MS,
    chores: ['duties'],
  },
  {
    name: 'a field of another manager is taken without force',
    file: 'src/patch/apply.ts',
    find: 'if (outcome.lost.length > 0 && !apply.force) {',
    replace: 'if (outcome.lost.length > 1 && !apply.force) {',
  },
  {
    name: 'a field that a manager gives up goes although others own it',
    file: 'src/patch/apply.ts',
    find: 'for (const { apiVersion, fields } of managers.values()) owned.set(apiVersion, union(owned.get(apiVersion) ?? EMPTY_SET, fields))\n',
    replace: '',
  },
  {
    name: 'an informer keeps objects that went while it listed again',
    file: 'src/controller-library/mirror.ts',
    find: 'if (!(known.revision > Number(resourceVersion))) this.#remove(known)',
    replace: '',
    chores: ['informers'],
  },
  {
    name: 'roles are not followed while the server ends',
    file: 'src/server/access/roles.ts',
    find: "openRoleIndex({ clientFor, answered }: Pick<ServerContext, 'clientFor' | 'answered'>)",
    replace: 'openRoleIndex({ clientFor, signal: answered }: any)',
    ms: RARE_MS,
    chores: ['roles'],
  },
  {
    name: 'a create is refused because of an object that was deleted before',
    file: 'src/storage/processes/process-store.ts',
    find: 'if (change.expect === 0) return await this.#outcomeOfCreate(request, sentAt)\n',
    replace: '',
    processes: true,
  },
  {
    name: 'a write whose answer was lost is taken for one that was not made',
    file: 'src/storage/processes/process-store.ts',
    find: "const outcome = request.kind === 'swap' ? await this.#outcomeOf(request) : 'not made'",
    replace: "const outcome = 'not made' as Outcome",
    processes: true,
  },
  {
    name: 'a follower tells its newest revision without reading the file',
    file: 'src/storage/embedded/log-reader.ts',
    find: 'const newest = this.follow()\n    this.release()\n    return newest',
    replace: 'return this.#history.newest',
    processes: true,
  },
  {
    name: 'a primary answers before it has heard of a commit that others can read',
    file: 'src/storage/embedded/writer.ts',
    find: 'if (file.newest() > this.#history.newest) return committing',
    replace: '',
    processes: true,
  },
  {
    name: 'a primary commits while another process opens the file',
    file: 'src/storage/processes/primary.ts',
    find: 'const resume = await this.#parts.writer.pause()',
    replace: 'const resume = () => {}',
    processes: true,
  },
  {
    name: 'a compaction is refused for a revision that others can read',
    file: 'src/storage/embedded/writer.ts',
    find: '    await this.settled()\n',
    replace: '',
    processes: true,
  },
  {
    name: 'a create that followed a deletion is refused when its answer was lost',
    file: 'src/storage/processes/process-store.ts',
    find: 'if (isCreation && (await this.#hasValueOf(request, next))) return madeAt(next, change)',
    replace:
      'return isCreation && (await this.#hasValueOf(request, next)) ? madeAt(next, change) : { ok: false, current: await this.#reader.latest(key) }',
    processes: true,
  },
  {
    name: 'a process is let in again before the swaps of its lost connection are decided',
    file: 'src/storage/processes/primary.ts',
    find: '[...this.#members, ...this.#left]',
    replace: '[...this.#members]',
    processes: true,
  },
  {
    name: 'a process is let in again when the last of its swaps is decided',
    file: 'src/storage/processes/primary.ts',
    find: 'if (--this.#undecided === 0) for',
    replace: 'this.#undecided = 0\n      for',
    processes: true,
  },
  {
    name: 'a process that opens the file is not heard while the primary closes',
    file: 'src/storage/processes/primary.ts',
    find: 'if (!this.#isReading && !this.#isOpening) return',
    replace: 'if (!this.#isReading) return',
    processes: true,
  },
  {
    name: 'a watch of the primary begins before it has heard of a commit that others can read',
    file: 'src/storage/embedded/log-reader.ts',
    find: 'after > newest ? this.settled() : undefined',
    replace: 'after < 0 ? this.settled() : undefined',
    processes: true,
  },
  {
    name: 'a follower serves reads without looking for writes of other processes',
    file: 'src/storage/processes/process-store.ts',
    find: 'settled.then(() => this.fresh()) : this.#reader.fresh()',
    replace: 'settled.then(() => this.fresh()) : this.#leading ? this.#reader.fresh() : this.#reader.history.newest',
    processServers: true,
  },
  {
    name: 'the duties of a process go on after another was appointed',
    file: 'src/server/controllers/appointment.ts',
    find: 'clientFor({ mayWrite: () => true, fence })',
    replace: 'clientFor({ mayWrite: () => true, fence: undefined as unknown as Fence })',
    ms: ELECTIONS_MS,
    chores: ['duties'],
    processServers: true,
  },
  {
    name: 'a process that was stopped for longer than history lasts keeps its index',
    file: 'src/storage/embedded/log-reader.ts',
    find: 'if (compacted > this.#history.newest) this.#loadAgain()\n    else if (file.newest()',
    replace: 'if (file.newest()',
    processes: true,
  },
  {
    name: 'a process that takes over does not read what the one before has committed last',
    file: 'src/storage/embedded/log-reader.ts',
    find: 'this.follow()\n    this.#isFollowing = false',
    replace: 'this.#isFollowing = false',
    processServers: true,
  },
  {
    name: 'what a write takes of a quota is free although the write may still be made',
    file: 'src/admission/plugins/resource-quota/resource-quota.ts',
    find: "if (outcome === 'unknown' && reservations.notes) return void reservations.keep(reservation, uid)\n",
    replace: '',
    ms: ELECTIONS_MS,
    chores: ['quota'],
  },
]
