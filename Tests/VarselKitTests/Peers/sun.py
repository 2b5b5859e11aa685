"""Judges sun times by PyPI astral, and where it has no answer by PyPI ephem.

usage: sun.py   reads lines `latitude longitude yyyy-mm-dd sunrise sunset`, the times in seconds since 1970 or `-` for none, and answers
each with a line of JSON: "errors", the distances in seconds to the same event of astral; "judged", how often astral left the event
out or put it elsewhere, so that ephem decided; "disagreements", in words.

astral counts events by UTC days and wraps them into the day: around midnight it leaves some out, and near the polar
circles it stops after two steps. So an event further than 300 s from every one of astral's is looked for where the sun passes the
horizon by ephem, which is another's work from other theories (XEphem, VSOP87) and knows no days.
"""
import datetime
import json
import math
import sys

import ephem
from astral import Observer, refraction_at_zenith
from astral.sun import SUN_APPARENT_RADIUS, sunrise, sunset

LIMIT = 300
ZENITH = 90 + SUN_APPARENT_RADIUS
HORIZON = -(SUN_APPARENT_RADIUS + refraction_at_zenith(ZENITH))
UTC = datetime.timezone.utc


def listed(function, observer, date):
    found = []
    for shift in (-1, 0, 1):
        try:
            found.append(function(observer, date=date + datetime.timedelta(days=shift)).timestamp())
        except ValueError:
            pass  # astral's way to say that the sun does not get there
    return found


def above(observer, second):
    place = ephem.Observer()
    place.lat, place.lon = math.radians(observer.latitude), math.radians(observer.longitude)
    place.pressure = 0  # no refraction: the horizon's depth has it
    place.date = ephem.Date(datetime.datetime.fromtimestamp(second, UTC).replace(tzinfo=None))
    return math.degrees(ephem.Sun(place).alt) > HORIZON


def passed(observer, start, end, rising):
    """Where the sun by ephem passes the horizon, to a second."""
    found = []
    step = 120
    second, was = start, above(observer, start)
    while second < end:
        following = second + step
        now = above(observer, following)
        if now != was and now == rising:
            low, high = second, following
            while high - low > 1:
                middle = (low + high) / 2
                if above(observer, middle) == was:
                    low = middle
                else:
                    high = middle
            found.append(high)
        second, was = following, now
    return found


for line in sys.stdin:
    latitude, longitude, day, *ours = line.split()
    # What astral does for the poles.
    observer = Observer(max(-89.8, min(89.8, float(latitude))), float(longitude), 0)
    date = datetime.date.fromisoformat(day)
    midnight = datetime.datetime.combine(date, datetime.time(), UTC).timestamp() - float(longitude) * 240
    answer = {"errors": [], "judged": 0, "disagreements": []}
    for name, function, text in (("sunrise", sunrise, ours[0]), ("sunset", sunset, ours[1])):
        theirs = listed(function, observer, date)
        if text == "-":
            if len(theirs) == 3:
                answer["judged"] += 1
                if passed(observer, midnight, midnight + 86400, name == "sunrise"):
                    answer["disagreements"].append(f"{name} at {latitude} {longitude} on {day}: only astral has it")
            continue
        time = float(text)
        error = min((abs(time - other) for other in theirs), default=LIMIT + 1)
        if error > LIMIT:
            answer["judged"] += 1
            near = passed(observer, time - 3600, time + 3600, name == "sunrise")
            error = min((abs(time - other) for other in near), default=None)
            if error is None:
                answer["disagreements"].append(f"{name} at {latitude} {longitude} on {day}: only we have it")
                continue
        answer["errors"].append(error)
    print(json.dumps(answer))
