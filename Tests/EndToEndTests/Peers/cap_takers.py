"""Several processes that take and give back weekly slots by the scripts of Varsel, as fast as they can.

usage: cap_takers.py REDIS_URL LUA_FOLDER USER_PREFIX USERS WEEK ROUNDS PROCESSES CATEGORY_CAP GLOBAL_CAP
Prints as JSON {"taken", "refused", "given_back", "above"}: `above` counts the moments at which a key held more than its cap.
"""

import json
import multiprocessing
import pathlib
import random
import sys
import time

import redis

url, folder, prefix, users, week, rounds, processes, cap, overall = sys.argv[1:]
users, rounds, processes, cap, overall = int(users), int(rounds), int(processes), int(cap), int(overall)
CATEGORIES = ["reminder", "campaign", "lifecycle"]


def script(name):
    text = (pathlib.Path(folder) / name).read_text()
    part = (pathlib.Path(folder) / "part-count.lua").read_text()
    return text.replace("-- include: part-count.lua", part)


def work(number):
    client = redis.Redis.from_url(url)
    take, give_back = client.register_script(script("take.lua")), client.register_script(script("give-back.lua"))
    chance = random.Random(number)
    counts = {"taken": 0, "refused": 0, "given_back": 0, "above": 0}
    held = []

    def keys(user, category):
        return [f"notif:v2:cat:{prefix}{user}:{category}:{week}", f"notif:v2:global:{prefix}{user}:{week}"]

    def group(pairs):
        ids = [f"{number}-{chance.getrandbits(64):x}" for _ in pairs]
        arguments = [int(time.time() * 1000), 600_000, "0"]
        for message in ids:
            arguments += [message, cap, overall]
        answers = take(keys=[key for pair in pairs for key in keys(*pair)], args=arguments)
        for pair, message, answer in zip(pairs, ids, answers):
            if answer == 0:
                counts["taken"] += 1
                held.append((pair, message))
            else:
                counts["refused"] += 1

    for _ in range(rounds):
        group([(chance.randrange(users), chance.choice(CATEGORIES)) for _ in range(8)])
        if held and chance.random() < 0.7:
            pair, message = held.pop(chance.randrange(len(held)))
            counts["given_back"] += give_back(keys=keys(*pair), args=[message])[0]
        pair = (chance.randrange(users), chance.choice(CATEGORIES))
        category, everything = keys(*pair)
        counts["above"] += (client.hlen(category) > cap) + (client.hlen(everything) > overall)
    # Whoever is last asks for every place that is left.
    group([(user, category) for user in range(users) for category in CATEGORIES for _ in range(cap)])
    return counts


if __name__ == "__main__":
    # Ended by closing: who starts this may have blocked the signal that the pool's other end sends.
    pool = multiprocessing.Pool(processes)
    results = pool.map(work, range(processes))
    pool.close()
    pool.join()
    print(json.dumps({name: sum(result[name] for result in results) for name in results[0]}))
