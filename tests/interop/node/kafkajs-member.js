// A member of a consumer group by kafkajs; settings, commands and events are told in ../groups/talk.py.
'use strict';

const readline = require('node:readline');
const { performance } = require('node:perf_hooks');
const { Kafka, logLevel } = require('kafkajs');

const settings = Object.fromEntries(
  process.argv.slice(2).map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
);

function say(event, fields = {}) {
  const at = (performance.timeOrigin + performance.now()) / 1000;
  process.stdout.write(JSON.stringify({ event, at, ...fields }) + '\n');
}

const kafka = new Kafka({
  clientId: 'member', brokers: [settings.bootstrap], logLevel: logLevel.ERROR,
  retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 100 },
});
const consumer = kafka.consumer({
  groupId: settings.group, sessionTimeout: Number(settings.session_ms),
  heartbeatInterval: Number(settings.heartbeat_ms), rebalanceTimeout: Number(settings.max_poll_ms),
  maxWaitTimeInMs: 100, metadataMaxAge: 1000,
});
let owned = [];
let pause = Promise.resolve();
const positions = {};

// The library has no listener to ask before partitions are given back, but says so before it joins anew.
consumer.on(consumer.events.REBALANCING, () => {
  say('revoked', { partitions: owned });
  owned = [];
});
consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  if (owned.length > 0) say('lost', { partitions: owned });
  owned = [...(payload.memberAssignment[settings.topic] ?? [])].sort((one, other) => one - other);
  say('assigned', { partitions: owned });
});

async function commit(offsets) {
  try {
    await consumer.commitOffsets(
      Object.entries(offsets).map(([partition, offset]) => ({
        topic: settings.topic, partition: Number(partition), offset: String(offset),
      })),
    );
    say('committed', { offsets });
  } catch (failure) {
    // Thrown from here it would end the consumer for good; the next heartbeat tells the library the same.
    say('commit-failed', { offsets, error: String(failure) });
  }
}

async function takeBatch({ batch, resolveOffset, heartbeat, isRunning, isStale }) {
  await pause;
  const taken = {};
  for (const message of batch.messages) {
    if (!isRunning() || isStale() || !owned.includes(batch.partition)) break;
    const offset = Number(message.offset);
    say('record', { partition: batch.partition, offset, value: message.value.toString() });
    taken[batch.partition] = offset + 1;
    resolveOffset(message.offset);
  }
  Object.assign(positions, taken);
  if (Object.keys(taken).length > 0) await commit(taken);
  await heartbeat();
}

const commands = {
  async close() {
    say('closing');
    await consumer.disconnect();
    say('closed');
    process.exit(0);
  },
  async commit() {
    await commit(positions);
  },
  async pause(seconds) {
    say('paused');
    pause = new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1000));
    await pause;
    say('resumed');
  },
};

async function main() {
  await consumer.connect();
  await consumer.subscribe({ topics: [settings.topic], fromBeginning: true });
  say('started');
  await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: takeBatch });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [command, ...words] = line.split(' ');
    await commands[command](...words);
  }
  process.exit(3);
}

main().catch((failure) => {
  say('failed', { message: String(failure.stack ?? failure) });
  process.exit(1);
});
