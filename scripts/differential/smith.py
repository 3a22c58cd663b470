"""Asks SWE-smith's profiles, in an environment that has the package, for the maps of generated logs.

usage: smith.py COUNT SEED OUT     run by scripts/differential/run
"""

import json
import sys

from logs import logs
from seeds import SMITH

# A repository for each parser of ours.
PROFILES = {
    "swe_smith": "mewwts__addict.75284f95",
    "swe_smith_airsim": "microsoft__AirSim.13448700",
    "swe_smith_autograd": "HIPS__autograd.ac044f0d",
    "swe_smith_boost": "zaphoyd__websocketpp.4dfe1be7",
    "swe_smith_cargo": "clap-rs__clap.3716f9f4",
    "swe_smith_catch2": "duckdb__duckdb.cb9e7c21",
    "swe_smith_cppunit": "aria2__aria2.b4fd7cb1",
    "swe_smith_ctest": "Tencent__rapidjson.24b5e7a8",
    "swe_smith_dotnet": "microsoft__VirtualClient.0bb16489",
    "swe_smith_googletest": "google__draco.b91aa918",
    "swe_smith_gotest": "gin-gonic__gin.3c12d2a8",
    "swe_smith_jasmine": "jashkenas__backbone.e8bc45ac",
    "swe_smith_jest": "babel__babel.2ea3fc8f",
    "swe_smith_junit": "Netflix__eureka.459fcf59",
    "swe_smith_karma": "piskelapp__piskel.51373322",
    "swe_smith_mocha": "axios__axios.ef36347f",
    "swe_smith_mocha_totals": "teambit__bit.2d92cae7",
    "swe_smith_mypy": "python__mypy.e93f06ce",
    "swe_smith_node": "markedjs__marked.dbf29d91",
    "swe_smith_paramiko": "paramiko__paramiko.23f92003",
    "swe_smith_phpunit": "doctrine__dbal.acb68b38",
    "swe_smith_react_pdf": "diegomura__react-pdf.ee5c96b8",
    "swe_smith_slugify": "un33k__python-slugify.872b3750",
    "swe_smith_surefire": "google__gson.dd2fe59c",
    "swe_smith_tornado": "tornadoweb__tornado.d5ac65c1",
    "swe_smith_turbo": "drizzle-team__drizzle-orm.a086f59f",
    "swe_smith_vitest": "sveltejs__svelte.6c9717a9",
    "jq": "jqlang__jq.b9e19de7",
    "redis": "valkey-io__valkey.fc7c04e4",
}

# Its maps are made of sets.
UNORDERED = {"swe_smith_boost"}


def main():
    from swesmith.profiles import registry

    count, seed, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    with open(out, "w", encoding="utf-8", errors="surrogatepass") as file:
        for name, repository in PROFILES.items():
            profile = registry.get(f"swesmith/{repository}")
            for log, instance_id, version in logs(name, SMITH[name], count, seed):
                try:
                    answer = list(profile.log_parser(log).items())
                except Exception as error:  # noqa: BLE001 - any failure is the answer
                    answer = type(error).__name__
                case = {"parser": name, "instance_id": instance_id, "version": version, "log": log, "answer": answer, "unordered": name in UNORDERED}
                file.write(json.dumps(case) + "\n")


main()
